// Lines at the bottom of the terminal that are drawn again in place: a progress view's. Knows
// nothing of what they say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/output_filter.h"

namespace podctl {

// On `streams.err`, which must be a terminal; in ASCII where that knows nothing else. Whoever
// writes to the terminal meanwhile erases the block first. One thread at a time.
class LiveBlock {
 public:
  explicit LiveBlock(Streams& streams);
  ~LiveBlock() { Erase(); }
  LiveBlock(const LiveBlock&) = delete;
  LiveBlock& operator=(const LiveBlock&) = delete;

  // In place of what is drawn now. Each line is cut to the window's width as it is now.
  void Draw(const std::vector<std::string>& lines);
  void Erase();
  bool drawn() const { return !drawn_.empty(); }

  // How many lines Draw may be given: what scrolls out of the window cannot be erased.
  std::size_t MostLines() const;
  int Width() const;  // columns

 private:
  int RowsDrawn() const;
  std::string Erasure();

  Streams& streams_;
  std::vector<int> drawn_;  // the columns of each line on the screen now
  int resumed_;
};

// How many columns `text` takes, a UTF-8 character counting as one.
std::size_t ScreenColumns(std::string_view text);

// One of the ten frames of the sign that something goes on.
std::string_view SpinnerFrame(std::size_t frame);

}  // namespace podctl
