// podctl version, and podctl --version.
#include "cmd/commands/commands.h"
#include "cmd/context.h"
#include "providers/base/json.h"

namespace podctl {
namespace {

int Run(Context& context, const NoOptions&) {
  Streams& streams = context.streams();
  if (streams.json) {
    Value document = Value::EmptyMap();
    document.Set("format_version", "1.0");
    document.Set("podctl_version", kVersion);
    streams.out << ToJson(document, JsonStyle::kIndented) << "\n";
  } else {
    streams.out << "podctl " << kVersion << "\n";
  }
  return 0;
}

const CommandOf<NoOptions> kVersionCommand("version", "show the version", {}, Run, nullptr,
                                           NoState);

}  // namespace

const Command& commands::kVersion = kVersionCommand;

}  // namespace podctl
