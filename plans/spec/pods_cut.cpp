#include "plans/spec/pods_cut.h"

namespace podctl {
namespace {

constexpr std::string_view kPods = "pods:";
constexpr std::string_view kMerge = "<<";  // what a map merges comes behind all that it says itself

std::size_t NextLine(std::string_view text, std::size_t from) {
  const std::size_t end = text.find('\n', from);
  return end == std::string_view::npos ? text.size() : end + 1;
}

bool IsEmptyOrComment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos || line[first] == '#';
}

// The last line before `end` that begins a key at the top, or npos.
std::size_t LastTopLine(std::string_view text, std::size_t end) {
  for (std::size_t at = text.rfind('\n', end); at != std::string_view::npos && at > 0;
       at = text.rfind('\n', at - 1)) {
    const std::size_t line = at + 1;
    if (line < end && text[line] != ' ' && text[line] != '\n' && text[line] != '\r' &&
        text[line] != '#') {
      return line;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<std::size_t> FindPodsCut(std::string_view text) {
  if (text.find(kMerge) != std::string_view::npos) return std::nullopt;
  const std::size_t middle = text.size() / 2;
  const std::size_t pods = LastTopLine(text, middle);
  if (pods == std::string_view::npos || !text.substr(pods).starts_with(kPods)) return std::nullopt;
  std::size_t line = NextLine(text, pods);
  if (!IsEmptyOrComment(text.substr(pods + kPods.size(), line - pods - kPods.size()))) {
    return std::nullopt;
  }
  while (line < middle && IsEmptyOrComment(text.substr(line, NextLine(text, line) - line))) {
    line = NextLine(text, line);
  }
  const std::size_t indent = text.find_first_not_of(' ', line) - line;
  if (line >= middle || indent == 0) return std::nullopt;
  for (line = NextLine(text, middle); line < text.size(); line = NextLine(text, line)) {
    const std::size_t first = text.find_first_not_of(' ', line);
    if (first == std::string_view::npos) break;
    if (first == line && text[line] != '\n' && text[line] != '\r' && text[line] != '#') break;
    const bool is_key = std::string_view("#-\r\n\t").find(text[first]) == std::string_view::npos;
    if (first - line == indent && is_key) return line;
  }
  return std::nullopt;
}

}  // namespace podctl
