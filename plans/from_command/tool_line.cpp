#include "plans/from_command/tool_line.h"

#include <fmt/format.h>

#include "providers/base/text.h"

namespace podctl {

void ToolLine::Left(const std::string& subject, std::string_view reason) {
  made_.remarks.push_back({VisibleControls(subject), std::string(reason)});
}

void ToolLine::Refuse(const std::string& subject, std::string_view reason) {
  refused_.push_back({VisibleControls(subject), std::string(reason)});
}

std::optional<Error> ToolLine::Refused() const {
  if (refused_.empty()) return std::nullopt;
  std::vector<std::string> lines;
  for (const Remark& each : refused_) lines.push_back(each.subject + ": " + each.reason);
  const char* it = lines.size() == 1 ? "it" : "them";
  return MakeError(ErrorCode::kInvalidArgument, Join(lines, "\n"),
                   fmt::format("Take {} out of the line, and say what is meant in the spec.", it));
}

std::string ToolLine::Shown(const GivenFlag& flag) {
  return flag.name.starts_with('-') ? flag.name : "--" + flag.name;
}

bool ToolLine::CanBeTaken(const GivenFlag& flag) {
  if (!flag.known) {
    Refuse(Shown(flag), "podctl does not know this flag");
  } else if (flag.lacks_value) {
    Refuse(Shown(flag), "its value is missing");
  }
  return flag.known && !flag.lacks_value;
}

}  // namespace podctl
