#include "cmd/views/live_block.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cmd/interrupt.h"
#include "cmd/output_filter.h"

namespace podctl {
namespace {

constexpr std::size_t kMostBlockLines = 12;

struct Size {
  int columns;
  int rows;  // 0: not known
};

Size TerminalSize(const Streams& streams) {
  winsize size{};
  if (streams.err_is_terminal && IsOutlet(streams.err) &&
      ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return {size.ws_col, size.ws_row};
  }
  return {streams.width, 0};
}

// Cuts to `width` columns, the mark of that included, counting a UTF-8 character as one.
std::string Clip(std::string_view text, int width, std::string_view mark) {
  const int most = width - static_cast<int>(ScreenColumns(mark));
  int columns = 0;
  std::size_t end = 0;
  std::size_t cut = 0;
  while (end < text.size()) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80) {
      if (++columns == most + 1) cut = end;
      if (columns > width) return std::string(text.substr(0, cut)) + std::string(mark);
    }
    ++end;
  }
  return std::string(text);
}

constexpr std::array<std::string_view, 10> kFrames = {"⠋", "⠙", "⠹", "⠸", "⠼",
                                                      "⠴", "⠦", "⠧", "⠇", "⠏"};
constexpr std::string_view kAsciiFrames = "|/-\\";

// For a terminal that has no other characters: the spinner turns, and what else there is becomes
// what people write for it, or a question mark.
std::string InAscii(std::string_view text) {
  std::string ascii;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t size = 1;
    while (at + size < text.size() && (static_cast<unsigned char>(text[at + size]) & 0xC0) == 0x80)
      ++size;
    const std::string_view one = text.substr(at, size);
    const auto* frame = std::find(kFrames.begin(), kFrames.end(), one);
    if (size == 1 && static_cast<unsigned char>(one[0]) < 0x80) {
      ascii += one;
    } else if (frame != kFrames.end()) {
      ascii +=
          kAsciiFrames[static_cast<std::size_t>(frame - kFrames.begin()) % kAsciiFrames.size()];
    } else {
      ascii += one == "…" ? "..." : one == "→" ? "->" : "?";
    }
    at += size;
  }
  return ascii;
}

}  // namespace

std::size_t ScreenColumns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string_view SpinnerFrame(std::size_t frame) {
  return kFrames[frame % kFrames.size()];
}

LiveBlock::LiveBlock(Streams& streams) : streams_(streams), resumed_(Interrupt::Resumed()) {}

int LiveBlock::Width() const {
  return TerminalSize(streams_).columns;
}

std::size_t LiveBlock::MostLines() const {
  const int rows = TerminalSize(streams_).rows;
  if (rows <= 0) return kMostBlockLines;
  // One row is the cursor's, and one is for the line that says how many are not shown.
  return std::clamp<std::size_t>(static_cast<std::size_t>(rows), 3, kMostBlockLines + 2) - 2;
}

// A terminal that was made narrower has folded the lines.
int LiveBlock::RowsDrawn() const {
  const int width = Width();
  int rows = 0;
  for (const int columns : drawn_) rows += std::max(1, (columns + width - 1) / width);
  return rows;
}

// What takes the block off the screen; it counts as gone.
std::string LiveBlock::Erasure() {
  // After Ctrl-Z and fg the shell's own lines stand below what was drawn: that is left alone.
  const int resumed = Interrupt::Resumed();
  if (std::exchange(resumed_, resumed) != resumed) drawn_.clear();
  if (drawn_.empty()) return {};
  // Row by row, from the last one up: a terminal that is told to erase everything below its first
  // row may keep that in its history (tmux does), one block for each that was ever drawn.
  std::string erasure;
  for (int row = RowsDrawn(); row > 0; --row) erasure += "\x1b[1A\x1b[2K";
  drawn_.clear();
  return erasure + "\r";
}

void LiveBlock::Erase() {
  if (const std::string erasure = Erasure(); !erasure.empty()) {
    PassOwn(streams_.err, erasure);
    streams_.err << std::flush;
  }
}

// In one write, so that nothing flickers.
void LiveBlock::Draw(const std::vector<std::string>& lines) {
  const int width = Width();
  PassOwn(streams_.err, Erasure());
  std::string block;
  for (const std::string& line : lines) {
    const std::string shown =
        streams_.ascii ? Clip(InAscii(line), width - 1, "...") : Clip(line, width - 1, "…");
    drawn_.push_back(static_cast<int>(ScreenColumns(shown)));
    block += shown + "\n";
  }
  streams_.err << block << std::flush;
}

}  // namespace podctl
