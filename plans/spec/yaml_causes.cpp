#include "plans/spec/yaml_causes.h"

#include <fmt/format.h>

#include <algorithm>

namespace podctl {
namespace {

bool IsBlankOrComment(std::string_view line) {
  const auto first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos || line[first] == '#';
}

}  // namespace

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
