#include "plans/spec/yaml_strictness.h"

#include <algorithm>

namespace podctl {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool IsOneOf(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

}  // namespace

std::size_t BehindQuoted(std::string_view source, std::size_t begin) {
  const char quote = source[begin];
  for (std::size_t at = begin + 1; at < source.size(); ++at) {
    if (quote == '"' && source[at] == '\\') {
      ++at;
    } else if (source[at] == quote) {
      if (quote == '"' || at + 1 == source.size() || source[at + 1] != quote) return at + 1;
      ++at;  // '' is one ' in single quotes
    }
  }
  return std::string_view::npos;
}

std::size_t CommentInFlow(std::string_view source, std::size_t begin) {
  int depth = 0;
  bool fresh = true;  // a value may begin here, so that a quote is one
  for (std::size_t at = begin; at < source.size();) {
    const char c = source[at];
    const bool behind_blank = at > begin && IsOneOf(source[at - 1], kBlanks);
    if (c == '#' && behind_blank) {
      at = std::min(source.find('\n', at), source.size());
      continue;
    }
    if (c == '#' && at > begin && IsOneOf(source[at - 1], "[]{},")) return at;
    if (fresh && (c == '"' || c == '\'')) {
      at = BehindQuoted(source, at);
      continue;
    }
    if (fresh && (c == '&' || c == '!')) {  // an anchor or a tag: the value stands behind it
      at = std::min(source.find_first_of(" \t\r\n,]}", at), source.size());
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    ++at;
    if (depth == 0) return at < source.size() && source[at] == '#' ? at : std::string_view::npos;
    if (!IsOneOf(c, kBlanks)) fresh = IsOneOf(c, "[{,:?");
  }
  return std::string_view::npos;
}

std::size_t CommentAtBlock(std::string_view source, std::size_t begin) {
  const std::size_t end = source.find_first_not_of("|>+-0123456789", begin);
  return end < source.size() && source[end] == '#' ? end : std::string_view::npos;
}

bool LacksColon(std::string_view source, std::size_t key, std::size_t length) {
  const std::size_t line = source.rfind('\n', key) + 1;
  // An alias as a key stands where its anchor does, and behind `?` a key needs no colon.
  if (source.substr(line, key - line).find_first_of("&?:") != std::string_view::npos) return false;
  const std::size_t behind = source.find_first_not_of(" \t", key + length);
  return behind >= source.size() || source[behind] != ':';
}

}  // namespace podctl
