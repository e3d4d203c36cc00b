// The command line of `podctl init`.
#include <string>

#include "cmd/commands/commands.h"
#include "cmd/commands/init.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "providers/base/text.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"

namespace podctl {
namespace {

// Flags that do not go together: what is wrong, or "".
std::string InitConflict(const InitOptions& init, const GlobalOptions&) {
  if (init.from_command.empty()) {
    if (init.legacy_request) return "`--legacy-request` needs `--from-command`";
    if (init.folder == "-") return "only `--from-command` prints a spec to standard output";
    return {};
  }
  if (init.list) return "`--list` and `--from-command` cannot be used together";
  const bool templated = init.template_name != InitOptions().template_name;
  return templated ? "`--template` and `--from-command` cannot be used together" : "";
}

int Run(Context& context, const InitOptions& given) {
  RealFileSystem files;
  RealClock clock;
  InitOptions options = given;
  options.now = FormatTimestamp(clock.Now());
  const auto done = RunInit(options, files, context.streams());
  return done ? 0 : context.wiring().reporter().ShowFailure(done.error());
}

using InitFlags = FlagsOf<InitOptions>;

constexpr Flag kInitFlags[] = {
    InitFlags::Value<&InitOptions::template_name>("--template", "NAME",
                                                  "which one (default minimal)"),
    InitFlags::Value<&InitOptions::from_command>(
        "--from-command", "LINE",
        "from a line of gcloud, xla_dist or caliban; DIR - prints the spec"),
    InitFlags::Switch<&InitOptions::legacy_request>(
        "--legacy-request", "print what caliban sent to the service that has ended"),
    InitFlags::Value<&InitOptions::folder>("DIR", "", "folder to write to (default: here)"),
    InitFlags::Switch<&InitOptions::list>("--list", "show the templates"),
};

const CommandOf<InitOptions> kInitCommand("init", "write a starter spec", kInitFlags, Run,
                                          InitConflict, NoState);

}  // namespace

const Command& commands::kInit = kInitCommand;

}  // namespace podctl
