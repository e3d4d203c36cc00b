// The command line of `podctl exec`.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "cmd/commands/commands.h"
#include "cmd/commands/exec/exec.h"
#include "cmd/commands/jobs.h"
#include "cmd/context.h"
#include "plans/fleet/exec/options.h"

namespace podctl {
namespace {

constexpr int kMostWorkers = 99'999;

// As a shell takes it for a name (POSIX.1-2017, 3.235).
bool IsVariableName(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

std::string SetEnvironment(const Flag&, std::any& options, const Flag::Words& words) {
  for (const std::string& word : words) {
    if (IsVariableName(std::string_view(word).substr(0, word.find('=')))) continue;
    // What stands there may be a value, and a secret.
    return "wants NAME=VALUE, or NAME for its value here; a name is letters, digits and _";
  }
  std::any_cast<ExecLine&>(options).env = words;
  return {};
}

// Flags that do not go together: what is wrong, or "".
std::string ExecConflict(const ExecLine& exec, const GlobalOptions& global) {
  const bool json = global.json;
  if (exec.command.empty() && exec.retry_failed.empty()) {
    return "`podctl exec` needs more: podctl exec POD [flags] -- COMMAND…";
  }
  const auto together = [](std::string_view one, std::string_view other, std::string_view why) {
    return fmt::format("`{}` and `{}` cannot be used together: {}", one, other, why);
  };
  if (exec.fail_fast && exec.max_failures) {
    return together("--fail-fast", "--max-failures", "one is the other with 0");
  }
  if (exec.overwrite && exec.output_dir.empty()) {
    return "`--overwrite` is about the results in a folder: give `--output-dir` too";
  }
  const bool gather = exec.gather || exec.diff;
  if (gather && json) {
    return together(exec.diff ? "--diff" : "--gather", "--json",
                    "the events hold each worker's lines");
  }
  const std::pair<bool, std::string_view> not_of_a_job[] = {
      {exec.tty, "--tty"},
      {gather, exec.diff ? "--diff" : "--gather"},
      {!exec.output_dir.empty(), "--output-dir"},
      {!exec.retry_failed.empty(), "--retry-failed"},
      {exec.batch.has_value(), "--batch"},
      {exec.timeout.count() > 0, "--timeout"},
      {exec.max_failures.has_value(), "--max-failures"},
      {exec.fail_fast, "--fail-fast"},
  };
  for (const auto& [given, flag] : not_of_a_job) {
    if (!exec.detach.empty() && given) {
      return together("--detach", flag,
                      "a job starts everywhere, and `podctl logs` shows the rest");
    }
  }
  const std::pair<bool, std::string_view> not_on_a_terminal[] = {
      {json, "--json"},
      {gather, exec.diff ? "--diff" : "--gather"},
      {!exec.output_dir.empty(), "--output-dir"},
      {!exec.retry_failed.empty(), "--retry-failed"},
      {exec.batch.has_value(), "--batch"},
      {exec.timeout.count() > 0, "--timeout"},
  };
  for (const auto& [given, flag] : not_on_a_terminal) {
    if (exec.tty && given) {
      return together("--tty", flag, "a terminal is for one worker and for somebody before it");
    }
  }
  return {};
}

using Of = FlagsOf<ExecLine>;

constexpr Flag kFlags[] = {
    Of::Pod<&ExecLine::pod>(),
    Of::Workers<&ExecLine::workers>(),
    Of::Switch<&ExecLine::gather>("--gather",
                                  "show equal outputs once, with their workers, at the end"),
    Of::Switch<&ExecLine::diff>(
        "--diff", "gather, and show the smaller groups as differences from the biggest"),
    Of::Value<&ExecLine::output_dir>("--output-dir", "DIR",
                                     "write outputs to files in DIR, with results.json"),
    Of::Switch<&ExecLine::overwrite>("--overwrite", "replace the results that DIR holds"),
    Of::Value<&ExecLine::retry_failed>(
        "--retry-failed", "DIR|last",
        "only the workers that failed in DIR's results, or in the last run"),
    Within(1, kMostWorkers,
           Of::Value<&ExecLine::batch>("--batch", "N|P%",
                                       "so many workers at a time; none after a failure")),
    Within(0, kMostWorkers,
           Of::Value<&ExecLine::max_failures>(
               "--max-failures", "N|P%", "start no more workers after more failures than this")),
    Of::Switch<&ExecLine::fail_fast>("--fail-fast", "the same as --max-failures 0"),
    Of::Value<&ExecLine::timeout>("--timeout", "DURATION", "end the command after this long"),
    {.name = "--env",
     .takes = Flag::Takes::kWords,
     .value = "NAME[=VALUE]",
     .help = "set a variable for the command; NAME alone: as it is here; repeatable",
     .set = SetEnvironment},
    Of::Value<&ExecLine::detach>("--detach", "NAME",
                                 "start it as a job of this name that outlives the connection"),
    WithLetter('n', Of::Switch<&ExecLine::no_stdin>("--no-stdin", "leave standard input alone")),
    WithLetter('t',
               Of::Switch<&ExecLine::tty>("--tty", "a terminal for the command, on one worker")),
    BehindDashes(true, Of::Values<&ExecLine::command>("COMMAND", "", "the command, after --")),
};

const CommandOf<ExecLine> kCommand(
    "exec", "run a command on a pod's workers", kFlags,
    [](Context& context, const ExecLine& line) {
      return line.detach.empty() ? RunExec(context.wiring(), line, line)
                                 : RunDetach(context.wiring(), line, line);
    },
    ExecConflict);

}  // namespace

const Command& commands::kExec = kCommand;

}  // namespace podctl
