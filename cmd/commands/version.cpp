// podctl version, and podctl --version.
#include "cmd/command.h"
#include "providers/base/json.h"

namespace podctl {
namespace {

int RunVersion(Context& context, const NoOptions&) {
  Streams& streams = context.streams();
  if (streams.json) {
    Value document = Value::Map{{"format_version", "1.0"}, {"podctl_version", kVersion}};
    streams.out << ToJson(document, JsonStyle::kIndented) << "\n";
  } else {
    streams.out << "podctl " << kVersion << "\n";
  }
  return 0;
}

}  // namespace

const Command commands::kVersion("version", "show the version", {}, RunVersion, nullptr, NoState);

}  // namespace podctl
