#include "plans/spec/source_file.h"

#include <algorithm>
#include <utility>

#include "providers/os/file_system.h"

namespace podctl {

SourceFile::SourceFile(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

SourcePlace SourceFile::PlaceAt(std::size_t offset, std::size_t length) const {
  offset = std::min(offset, text_.size());
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  SourcePlace place;
  place.file = name_;
  place.line = static_cast<int>(next - line_starts_.begin());
  place.column = static_cast<int>(offset - *(next - 1)) + 1;
  place.length = static_cast<int>(std::max<std::size_t>(1, length));
  place.byte = static_cast<int>(offset);
  return place;
}

std::size_t SourceFile::LineStart(int line) const {
  if (line < 1 || static_cast<std::size_t>(line) > line_starts_.size()) return text_.size();
  return line_starts_[static_cast<std::size_t>(line) - 1];
}

std::string_view SourceFile::Line(int line) const {
  std::string_view rest = std::string_view(text_).substr(LineStart(line));
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

std::string SourceFile::ShownLine(int line) const {
  constexpr std::size_t kLongestLine = 16u << 10;
  const std::string_view text = Line(line);
  return text.size() > kLongestLine ? std::string() : std::string(text);
}

std::string SourceFile::Folder() const {
  return FolderOf(name_);
}

std::size_t FindInvalidUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(i);
    std::size_t more = 0;
    unsigned low = 0x80;
    unsigned high = 0xBF;
    if (lead < 0x80) {
      more = 0;
    } else if (lead >= 0xC2 && lead <= 0xDF) {
      more = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      more = 2;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;  // no surrogates
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      more = 3;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else {
      return i;
    }
    if (i + more >= text.size() && more > 0) return i;
    for (std::size_t j = 1; j <= more; ++j) {
      if (byte(i + j) < low || byte(i + j) > high) return i;
      low = 0x80;
      high = 0xBF;
    }
    i += more + 1;
  }
  return std::string_view::npos;
}

}  // namespace podctl
