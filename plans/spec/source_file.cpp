#include "plans/spec/source_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plans/spec/names.h"
#include "providers/base/text.h"
#include "providers/os/file_system.h"

namespace podctl {
namespace {

// Columns before the first key of a line, with the dash of a list; nullopt of one without any.
std::optional<std::size_t> DepthOf(std::string_view line) {
  const auto first = line.find_first_not_of(" \t-");
  if (first == std::string_view::npos || line[first] == '#') return std::nullopt;
  return first;
}

// Whether the text up to a colon ends with `sensitive` or with what was meant to be it, and what
// stands behind does not deny it.
bool IsSensitiveKey(std::string_view before, std::string_view behind) {
  constexpr std::size_t kShortest = 6;  // of a misspelled one
  while (!before.empty() &&
         std::string_view(" \t\"'").find(before.back()) != std::string_view::npos) {
    before.remove_suffix(1);
  }
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  };
  std::size_t start = before.size();
  while (start > 0 && is_letter(before[start - 1])) --start;
  const std::string_view word = before.substr(start);
  return word.size() >= kShortest && !SuggestWord(word, {"sensitive"}).empty() &&
         !TrimBlanks(behind).starts_with("false");
}

bool NamesSensitive(std::string_view line) {
  for (auto colon = line.find(':'); colon != std::string_view::npos;
       colon = line.find(':', colon + 1)) {
    if (IsSensitiveKey(line.substr(0, colon), line.substr(colon + 1))) return true;
  }
  return false;
}

bool BeginsSensitive(std::string_view line) {
  const auto colon = line.find(':');
  return colon != std::string_view::npos &&
         IsSensitiveKey(line.substr(0, colon), line.substr(colon + 1));
}

}  // namespace

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
  const bool shown = text.size() <= kLongestLine && !hidden_ && !MayHoldSecret(line);
  return shown ? std::string(text) : std::string();
}

// By the text alone, since it may be one that cannot be parsed.
bool SourceFile::MayHoldSecret(int line) const {
  const auto depth = DepthOf(Line(line));
  if (NamesSensitive(Line(line))) return true;
  if (!depth) return false;
  // What the line is a part of, from the inside, and what stands beside these.
  constexpr int kFarthest = 2'000;  // lines to either side
  std::vector<std::size_t> levels = {*depth};
  const int first = std::max(1, line - kFarthest);
  for (int above = line - 1; above >= first && levels.back() > 0; --above) {
    const auto at = DepthOf(Line(above));
    if (!at || *at > levels.back()) continue;
    if (*at < levels.back()) {
      levels.push_back(*at);
      if (NamesSensitive(Line(above))) return true;
    } else if (BeginsSensitive(Line(above))) {
      return true;
    }
  }
  const int lines = std::min(static_cast<int>(line_starts_.size()), line + kFarthest);
  bool inside = true;  // of a map that the line opens
  for (int below = line + 1; below <= lines && (inside || !levels.empty()); ++below) {
    const auto at = DepthOf(Line(below));
    if (!at) continue;
    inside = inside && *at > *depth;
    std::erase_if(levels, [&](std::size_t level) { return level > *at || level == 0; });
    const bool beside = std::find(levels.begin(), levels.end(), *at) != levels.end();
    if (beside && BeginsSensitive(Line(below))) return true;
    if (inside && Line(line).find('{') != std::string_view::npos && NamesSensitive(Line(below))) {
      return true;
    }
  }
  return false;
}

std::string SourceFile::Folder() const {
  return FolderOf(name_);
}

}  // namespace podctl
