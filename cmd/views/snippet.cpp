#include "cmd/views/snippet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::size_t kMostShown = 100;
constexpr int kTabStop = 4;
constexpr int kLeastWidth = 40;

constexpr std::string_view kRed = "\033[1;31m";
constexpr std::string_view kYellow = "\033[1;33m";
constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kReset = "\033[0m";

std::string Paint(const std::string& text, std::string_view color, bool on) {
  if (!on || text.empty()) return text;
  return std::string(color) + text + std::string(kReset);
}

// One character of a source line as it is shown.
struct Cell {
  std::string text;
  int columns = 1;
  std::size_t offset = 0;  // of its first byte in the line
};

// Columns a character takes on a terminal; the ranges of UAX #11 and of combining marks that
// matter in practice.
int ColumnsOf(std::uint32_t code) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kNone[] = {{0x0300, 0x036F}, {0x0591, 0x05BD}, {0x064B, 0x065F}, {0x1AB0, 0x1AFF},
                             {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                             {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}};
  constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
                             {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
                             {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                             {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                             {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  const auto is_in = [code](const Range& range) {
    return code >= range.first && code <= range.last;
  };
  if (std::any_of(std::begin(kNone), std::end(kNone), is_in)) return 0;
  return std::any_of(std::begin(kWide), std::end(kWide), is_in) ? 2 : 1;
}

// The length of the UTF-8 sequence at the start of `text`, and its code; what is no UTF-8 is one
// byte, shown as a question mark.
std::pair<std::size_t, std::uint32_t> Decode(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80             ? 1
                             : (lead & 0xE0) == 0xC0 ? 2
                             : (lead & 0xF0) == 0xE0 ? 3
                             : (lead & 0xF8) == 0xF0 ? 4
                                                     : 0;
  if (length == 1) return {1, lead};
  if (length == 0 || length > text.size()) return {1, 0xFFFD};
  std::uint32_t code = lead & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return {1, 0xFFFD};
    code = (code << 6) | (next & 0x3F);
  }
  return {length, code};
}

std::vector<Cell> CellsOf(std::string_view line) {
  std::vector<Cell> cells;
  int column = 0;
  for (std::size_t i = 0; i < line.size();) {
    const auto [length, code] = Decode(line.substr(i));
    Cell cell;
    cell.offset = i;
    if (code == '\t') {
      cell.columns = kTabStop - column % kTabStop;
      cell.text.assign(static_cast<std::size_t>(cell.columns), ' ');
    } else if (code == 0xFFFD && length == 1) {
      cell.text = "?";
    } else {
      cell.text = VisibleControls(line.substr(i, length));
      const bool is_control = cell.text != line.substr(i, length);
      cell.columns = is_control ? static_cast<int>(cell.text.size()) : ColumnsOf(code);
    }
    column += cell.columns;
    cells.push_back(std::move(cell));
    i += length;
  }
  return cells;
}

struct Window {
  std::string line;   // as shown
  int caret = 0;      // columns before the caret
  int underline = 1;  // columns under the caret
};

// The part of the line that fits into `width`, with the caret in it.
Window CutAround(std::string_view source, int column, int length, int width) {
  const std::vector<Cell> cells = CellsOf(source);
  const auto first_byte = static_cast<std::size_t>(std::max(0, column - 1));
  const std::size_t end_byte = first_byte + static_cast<std::size_t>(std::max(1, length));
  int total = 0;
  int before = 0;
  int under = 0;
  for (const Cell& cell : cells) {
    if (cell.offset < first_byte) before += cell.columns;
    if (cell.offset >= first_byte && cell.offset < end_byte) under += cell.columns;
    total += cell.columns;
  }
  int start = 0;
  if (total > width && before + std::min(under, width / 2) > width - 1) start = before - width / 3;
  Window window;
  int column_now = 0;
  int shown = 0;
  if (start > 0) {
    window.line = "…";
    shown = 1;
  }
  window.caret = shown;
  bool is_cut = false;
  for (const Cell& cell : cells) {
    const bool is_before = cell.offset < first_byte;
    if (column_now >= start) {
      if (shown + cell.columns > width - 1 && total - start > width - 1) {
        is_cut = true;
        break;
      }
      window.line += cell.text;
      shown += cell.columns;
      if (is_before) window.caret += cell.columns;
    }
    column_now += cell.columns;
  }
  if (is_cut) window.line += "…";
  window.underline = std::max(1, std::min(under, shown - window.caret));
  return window;
}

std::string Header(const SourcePlace& place, const std::string& context, const std::string& note) {
  std::string text = "  ";
  if (place.file.empty()) return {};
  text += VisibleControls(place.file);
  if (place.line > 0) text += fmt::format(":{}:{}", place.line, place.column);
  if (!context.empty()) text += ", in " + VisibleControls(context);
  if (!note.empty()) text += ": " + note;
  return text + "\n";
}

// The source line between its gutters, and the caret with what is said beside it.
std::string Excerpt(const SourcePlace& place, const std::string& line, const std::string& beside,
                    std::string_view color, const SnippetStyle& style) {
  if (place.line <= 0 || TrimBlanks(line).empty()) {
    return beside.empty() ? "" : "  " + beside + "\n";
  }
  const std::string number = std::to_string(place.line);
  const std::string blank(number.size(), ' ');
  const std::string gutter = Paint(fmt::format(" {} |", blank), kDim, style.color);
  const std::string numbered = Paint(fmt::format(" {} |", number), kDim, style.color);
  const int room = std::max(kLeastWidth, style.width) - static_cast<int>(number.size()) - 4;
  const Window window = CutAround(line, place.column, place.length, room);
  std::string caret(static_cast<std::size_t>(window.underline), '^');
  if (!beside.empty()) caret += " " + beside;
  std::string text = gutter + "\n";
  text += fmt::format("{} {}\n", numbered, window.line);
  text += fmt::format("{} {}{}\n", gutter, std::string(static_cast<std::size_t>(window.caret), ' '),
                      Paint(caret, color, style.color));
  return text;
}

}  // namespace

Diagnostic DiagnosticOf(const std::string& summary, const Error& error) {
  // A message may have a block of lines below it (the lock's "Lock Info:").
  const auto first = std::min(error.message.find('\n'), error.message.size());
  std::vector<std::string> details;
  Diagnostic diagnostic;
  if (summary.empty()) {
    diagnostic.summary = error.message.substr(0, first);
    if (first < error.message.size()) details.push_back(error.message.substr(first + 1));
  } else {
    diagnostic.summary = summary;
    details.push_back(error.message);
  }
  if (!error.hint.empty()) details.push_back(Sentence(error.hint));
  diagnostic.detail = Join(details, "\n");
  return diagnostic;
}

std::string FormatDiagnostic(const Diagnostic& diagnostic, const SnippetStyle& style) {
  const bool is_error = diagnostic.severity == Severity::kError;
  const std::string_view color = is_error ? kRed : kYellow;
  std::string text = Paint(is_error ? "Error:" : "Warning:", color, style.color) + " " +
                     Paint(VisibleControls(diagnostic.summary), kBold, style.color) + "\n";
  text += Header(diagnostic.place, diagnostic.context, "");
  text += Excerpt(diagnostic.place, diagnostic.source_line, VisibleControls(diagnostic.suggestion),
                  color, style);
  for (const RelatedPlace& related : diagnostic.related) {
    text += Header(related.place, "", VisibleControls(related.note));
    text += Excerpt(related.place, related.source_line, "", kDim, style);
  }
  for (const std::string& line : SplitLines(diagnostic.detail)) {
    text += "  " + VisibleControls(line) + "\n";
  }
  return text;
}

std::string FormatDiagnostics(const Diagnostics& diagnostics, const SnippetStyle& style) {
  std::string text;
  std::size_t shown = 0;
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    if (shown == kMostShown) break;
    if (shown++ > 0) text += "\n";
    text += FormatDiagnostic(diagnostic, style);
  }
  if (diagnostics.items().size() > shown) {
    text += fmt::format("\n… and {} more\n", diagnostics.items().size() - shown);
  }
  return text;
}

}  // namespace podctl
