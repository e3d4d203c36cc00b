// The filter for all that podctl writes to standard output and error: what comes from others (the
// API, workers, repositories) reaches a terminal or a log as text, and never as control sequences
// or commands.
//
// - Control characters, what turns the direction of writing, and bytes that are no UTF-8 are made
//   visible (foreign_text.h), so that JSON stays JSON. Tabs stay; CR LF becomes LF.
// - podctl's own control sequences: colours (paint.h) pass where colours are wanted, and what moves
//   the cursor passes by PassOwn.
// - In CI no line begins a command of the runner: the second colon of "::error::" is made visible,
//   and the bracket of "##[error]" wherever it stands. GitLab's sections need CR and ESC, which are
//   made visible anyway.
//
// Knows nothing of what is written. One thread at a time for each stream, as with any ostream.
#pragma once

#include <iosfwd>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace podctl {

class OutputFilter final : public std::streambuf {
 public:
  struct Rules {
    bool color = false;
    bool ci = false;
  };
  OutputFilter(std::streambuf& target, Rules rules) : target_(target), rules_(rules) {}  // lent

  ~OutputFilter() override;
  OutputFilter(const OutputFilter&) = delete;
  OutputFilter& operator=(const OutputFilter&) = delete;

  // Goes out as it is, together with what is written next.
  void PassOwn(std::string_view sequence) { text_ += sequence; }

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* bytes, std::streamsize size) override;
  int sync() override;

 private:
  enum class Line { kBlank, kColon, kText };  // what it begins with, so far
  void Clean(std::string_view bytes);
  std::size_t TakeSpecial(std::string_view bytes, std::size_t at);
  void Put(char32_t code, std::string_view bytes);
  bool BeginsCommand(char32_t code);
  bool Write();

  std::streambuf& target_;
  const Rules rules_;
  std::string text_;  // clean, about to be written
  std::string held_;  // a CR, or the beginning of a character
  Line line_ = Line::kBlank;
  int hashes_ = 0;  // of "##vso[", so far; 2: its letters
};

// Writes what podctl itself means as control sequences. On a stream that is no Outlet (a test's) as
// any text.
void PassOwn(std::ostream& stream, std::string_view sequence);
bool IsOutlet(const std::ostream& stream);

// ---- The door to the terminal: where a command writes, and what stands at the other end.
//
// `out` carries the result, `err` everything else. Knows nothing of what is written.

struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color = false;  // wanted (no NO_COLOR, no --no-color); used where a terminal is
  int width = 100;     // columns
  bool json = false;   // a program reads `out` (--json)
  bool plain = false;  // nothing is to be drawn on the terminal: CI=true
  bool ascii = false;  // the terminal's locale has no other characters (C, POSIX)

  // Whether lines of `err` may be drawn again in place.
  bool live() const { return err_is_terminal && !plain; }
};

}  // namespace podctl
