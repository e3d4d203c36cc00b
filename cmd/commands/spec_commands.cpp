// The command lines of `podctl init` and `podctl validate`.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "cmd/command.h"
#include "cmd/commands/init.h"
#include "cmd/commands/validate.h"
#include "cmd/reporter.h"
#include "cmd/views/ci_view.h"
#include "cmd/wiring.h"
#include "plans/kinds/kinds.h"
#include "plans/spec/schema.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"

namespace podctl {
namespace {

// Flags that do not go together: what is wrong, or "".
std::string InitConflict(const InitOptions& init, const GlobalOptions&) {
  if (!init.forge.empty() && init.template_name != "gitops") {
    return "`--for` needs `--template gitops`";
  }
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
    OneOf("github|gitlab|gitea|atlantis",
          OneValue<&InitOptions::forge>("--for", "FORGE",
                                        "of gitops: github, gitlab, gitea or atlantis, by `podctl "
                                        "ci`")),
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

struct ValidateOptions {
  std::string format = "text";
};

std::string ValidateConflict(const ValidateOptions& options, const GlobalOptions& global) {
  if (!global.json || options.format == "text") return {};
  return fmt::format("`--format {}` and `--json` cannot be used together", options.format);
}

// The root of the repository that a pipeline has checked out; "": it does not say.
std::string CheckoutOf(const Environment& environment) {
  for (const char* name : {"GITHUB_WORKSPACE", "CI_PROJECT_DIR"}) {
    if (auto path = environment.Get(name); path && !path->empty()) return *path;
  }
  return {};
}

int RunValidation(Wiring& wiring, const ValidateOptions& options) {
  const LoadOptions load = wiring.SpecOptions();
  const Validated validated = ValidateSpec(load, wiring.files(), wiring.environment());
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  const auto path_of = [&](const std::string& file) {
    return PathInRepository(file, here, CheckoutOf(wiring.environment()));
  };
  if (options.format == "gitlab") {
    wiring.streams().out << ToJson(CodeQuality(validated.problems, path_of), JsonStyle::kIndented)
                         << "\n";
    return validated.problems.has_errors() ? 1 : 0;
  }
  const int code = ShowValidated(validated, load, wiring.streams());
  if (options.format != "github") return code;
  for (const Diagnostic& problem : validated.problems.items()) {
    WriteAnnotation(wiring.streams().out, problem, path_of(problem.place.file));
  }
  return code;
}

constexpr Flag kValidateFlags[] = {
    OneOf("text|github|gitlab",
          OneValue<&ValidateOptions::format>(
              "--format", "text|github|gitlab",
              "github: annotations at their lines, too; gitlab: a code quality report")),
};

}  // namespace

const Command commands::kValidate("validate", "check the spec, offline", kValidateFlags,
                                  WithWorld<RunValidation>, ValidateConflict,
                                  NoState<ValidateOptions>);

}  // namespace podctl
