// The command lines of `podctl init` and `podctl validate`.
#include <string>

#include "cmd/command.h"
#include "cmd/commands/init.h"
#include "cmd/commands/validate.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "plans/kinds/kinds.h"
#include "plans/spec/schema.h"
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

int RunInitLine(Context& context, const InitOptions& given) {
  RealFileSystem files;
  RealClock clock;
  InitOptions options = given;
  options.now = FormatTimestamp(clock.Now());
  options.project = context.global().project;
  options.zone = context.global().zone;
  const BuiltInKinds kinds({files});
  options.schema = SpecSchemaText(kinds.known().all);
  const auto done = RunInit(options, files, context.streams());
  return done ? 0 : context.wiring().reporter().ShowFailure(done.error());
}

// An empty one, out of a variable that is not set, must not mean that there is none.
std::string ReadLine(const Flag&, const std::string& text, std::string* target) {
  if (TrimBlanks(text).empty()) return "is empty: give it the whole line, in quotes";
  *target = text;
  return {};
}

constexpr Flag kInitFlags[] = {
    Naming(Flag::Names::kTemplate, OneValue<&InitOptions::template_name>(
                                       "--template", "NAME", "which one (default minimal)")),
    OneValue<&InitOptions::from_command, InitOptions, &ReadLine>(
        "--from-command", "LINE",
        "from a line of gcloud, xla_dist or caliban; DIR - prints the spec"),
    Switch<&InitOptions::legacy_request>("--legacy-request",
                                         "print what caliban sent to the service that has ended"),
    OneValue<&InitOptions::folder>("DIR", "", "folder to write to (default: here)"),
    Switch<&InitOptions::list>("--list", "show the templates"),
};

}  // namespace

const Command commands::kInit("init", "write a starter spec", kInitFlags, RunInitLine, InitConflict,
                              NoState);

namespace {

int RunValidation(Wiring& wiring) {
  return RunValidate(wiring.SpecOptions(), wiring.files(), wiring.environment(), wiring.streams());
}

}  // namespace

const Command commands::kValidate("validate", "check the spec, offline", {},
                                  WithWorld<RunValidation>, nullptr, NoState);

}  // namespace podctl
