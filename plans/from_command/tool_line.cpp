#include "plans/from_command/tool_line.h"

#include "providers/base/text.h"

namespace podctl {

void ToolLine::Left(const std::string& subject, std::string_view reason) {
  made_.remarks.push_back({VisibleControls(subject), std::string(reason)});
}

std::string ToolLine::Shown(const GivenFlag& flag) {
  return flag.name.starts_with('-') ? flag.name : "--" + flag.name;
}

bool ToolLine::CanBeTaken(const GivenFlag& flag) {
  if (!flag.known) {
    Left(Shown(flag), "podctl does not know this flag");
  } else if (flag.lacks_value) {
    Left(Shown(flag), "its value is missing");
  }
  return flag.known && !flag.lacks_value;
}

}  // namespace podctl
