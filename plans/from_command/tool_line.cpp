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
  if (refused_.size() > 1) lines.push_back(fmt::format("{} things in the line", refused_.size()));
  for (const Remark& each : refused_) lines.push_back(each.subject + ": " + each.reason);
  const char* it = refused_.size() == 1 ? "it" : "them";
  return MakeError(ErrorCode::kInvalidArgument, Join(lines, "\n"),
                   fmt::format("Put {0} right, or take {0} out of the line and say in the spec "
                               "what is meant.",
                               it));
}

std::string ToolLine::Shown(const GivenFlag& flag) {
  return flag.name.starts_with('-') ? flag.name : "--" + flag.name;
}

bool ToolLine::CanBeTaken(const GivenFlag& flag) {
  if (!flag.known) {
    Refuse(Shown(flag),
           flag.near.empty()
               ? "podctl does not know this flag"
               : fmt::format("podctl does not know this flag; did you mean `--{}`?", flag.near));
  } else if (flag.lacks_value) {
    Refuse(Shown(flag), "its value is missing");
  }
  return flag.known && !flag.lacks_value;
}

}  // namespace podctl
