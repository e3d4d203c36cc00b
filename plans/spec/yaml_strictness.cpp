#include "plans/spec/yaml_strictness.h"

#include <fmt/format.h>

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

bool IsBlankOrComment(std::string_view line) {
  const auto first = line.find_first_not_of(kBlanks);
  return first == std::string_view::npos || line[first] == '#';
}

std::string UsualCause(const SourceFile& file, std::size_t offset, std::string_view message) {
  const auto says = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  const SourcePlace place = file.PlaceAt(offset);
  if (says("illegal map value")) {
    const auto first_colon = file.Line(place.line).find(':');
    const bool is_first = first_colon + 1 == static_cast<std::size_t>(place.column);
    if (!is_first) return "a text that holds `: ` needs quotes";
    int above = place.line - 1;
    while (above > 0 && IsBlankOrComment(file.Line(above))) --above;
    return above > 0 && file.Line(above).find(':') != std::string_view::npos
               ? "is it indented like its neighbours?"
               : "does the line above lack a `:`?";
  }
  if (says("end of map not found") || says("end of sequence not found")) {
    const std::string_view line = file.Line(place.line);
    const bool is_key = line.find(':') != std::string_view::npos;
    const bool is_item =
        line.substr(std::min(line.find_first_not_of(' '), line.size())).starts_with('-');
    return is_key || is_item ? "is it indented like its neighbours?"
                             : "does it lack a `:`, or a `- ` in front?";
  }
  if (says("anchor is not defined")) return "a text that begins with `*` needs quotes";
  if (says("unknown token") && offset < file.text().size()) {
    const auto character = static_cast<unsigned char>(file.text()[offset]);
    if (character > 0x20 && character < 0x7F) {
      return fmt::format("a text that begins with `{}` needs quotes", file.text()[offset]);
    }
  }
  return "";
}

}  // namespace podctl
