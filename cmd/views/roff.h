// A page for man(1), in the macros of man(7), which groff and mandoc both know: what has to be
// escaped for these is here, what stands on a page is its callers'.
#pragma once

#include <string>
#include <string_view>

namespace podctl {

// Words as they stand, each of which a reader may copy.
std::string RoffLiteral(std::string_view text);
std::string RoffBold(std::string_view text);
std::string RoffItalic(std::string_view text);

class RoffPage {
 public:
  // `title` as one types it: "podctl-plan". `date`: YYYY-MM-DD. `source`: what it is of, with its
  // version.
  RoffPage(std::string_view title, int section, std::string_view date, std::string_view source);

  void Section(std::string_view title);
  // The section by which a page is found.
  void Name(std::string_view name, std::string_view summary);
  // What stands between `…` is code, here and in items, and is shown bold.
  void Paragraph(std::string_view prose);
  // Of a list: what is called so (roff: RoffBold and its like), and what is said of it.
  void Item(std::string_view head, std::string_view prose);
  // A line of roff: a synopsis.
  void Line(std::string_view roff);
  // Lines as they stand, indented.
  void Verbatim(std::string_view lines);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool begins_ = true;  // a section, which has no paragraph before its first
};

}  // namespace podctl
