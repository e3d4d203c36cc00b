#include "plans/spec/yaml_comments.h"

#include <algorithm>

namespace podctl {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool IsOneOf(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

// Behind the quoted text that begins at `at`.
std::size_t BehindQuoted(std::string_view source, std::size_t at) {
  const char quote = source[at];
  for (++at; at < source.size() && source[at] != quote; ++at) {
    if (quote == '"' && source[at] == '\\') ++at;
  }
  return std::min(source.size(), at + 1);
}

}  // namespace

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

}  // namespace podctl
