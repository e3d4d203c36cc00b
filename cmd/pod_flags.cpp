#include "cmd/pod_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/flag_kinds.h"
#include "cmd/fleet_flags.h"

namespace podctl {
namespace {

// As a shell takes it for a name (POSIX.1-2017, 3.235).
bool IsVariableName(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

void AddEnvironment(CLI::App* exec, ExecOptions* options) {
  exec->add_option_function<std::vector<std::string>>(
          "--env",
          [options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              if (!IsVariableName(text.substr(0, text.find('=')))) {
                // What stands there may be a value, and a secret.
                throw CLI::ValidationError(
                    "--env",
                    "wants NAME=VALUE, or NAME for its value here; a name is letters, "
                    "digits and _");
              }
              options->env.push_back(text);
            }
          },
          "set a variable for the command; NAME alone: as it is here; repeatable")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
}

void AddExec(CLI::App* app, PodOptions* pod, ExecOptions* options) {
  CLI::App* exec = AddCommand(app, "exec", "run a command on a pod's workers");
  exec->add_option("POD", pod->pod, "name of the pod")->required();
  AddWorkers(exec, &pod->workers, "all (default), 0,2-3, !7 (all but), 0-255/8");
  exec->add_flag("--gather", options->gather,
                 "show equal outputs once, with their workers, at the end");
  exec->add_flag("--diff", options->diff,
                 "gather, and show the smaller groups as differences from the biggest");
  exec->add_option("--output-dir", options->output_dir,
                   "write outputs to files in DIR, with results.json")
      ->type_name("DIR");
  exec->add_flag("--overwrite", options->overwrite, "replace the results that DIR holds");
  exec->add_option("--retry-failed", options->retry_failed,
                   "only the workers that failed in DIR's results, or in the last run")
      ->type_name("DIR|last");
  AddCountOrShare(exec, "--batch", 1, &options->batch,
                  "so many workers at a time; none after a failure");
  AddCountOrShare(exec, "--max-failures", 0, &options->max_failures,
                  "start no more workers after more failures than this");
  exec->add_flag("--fail-fast", options->fail_fast, "the same as --max-failures 0");
  AddDuration(exec, "--timeout", &options->timeout, "end the command after this long");
  AddEnvironment(exec, options);
  AddDetachFlag(exec, options);
  exec->add_flag("-n,--no-stdin", options->no_stdin, "leave standard input alone");
  exec->add_flag("-t,--tty", pod->tty, "a terminal for the command, on one worker");
  exec->add_option("COMMAND", pod->command, "the command, after --");
}

// --open, or --open=WORD. A word of its own behind it is a port.
void AddOpen(CLI::App* tunnel, std::string* open) {
  tunnel
      ->add_flag("--open{browser}", *open,
                 "wait until it answers, show its URL, and open that; =url: only show it")
      ->check([](const std::string& word) -> std::string {
        return word == "browser" || word == "url" ? ""
                                                  : fmt::format("`{}` is not browser or url", word);
      });
}

}  // namespace

void AddPodCommands(CLI::App* app, PodOptions* pod, ExecOptions* exec, CpOptions* cp) {
  AddExec(app, pod, exec);

  CLI::App* ssh = AddCommand(app, "ssh", "open an interactive shell on one worker");
  ssh->add_option("POD", pod->pod, "name of the pod")->required();
  AddWorkers(ssh, &pod->workers, "number of the worker (default 0)", "N");
  ssh->add_flag("-t,--tty", pod->tty, "a terminal also for a command");
  ssh->add_option("COMMAND", pod->command, "run this instead of a shell, after --");

  CLI::App* copy = AddCommand(app, "cp", "copy files to or from a pod's workers");
  copy->add_option("PATH", cp->paths, "SRC… DST; on workers POD:PATH or POD/WORKERS:PATH")
      ->required();
  AddWorkers(copy, &cp->workers, "all (default), 0,2-3, !7 (all but), 0-255/8");
  copy->add_flag("-r,--recursive", cp->recursive, "as for scp: folders are copied anyway");

  CLI::App* tunnel = AddCommand(app, "tunnel", "forward local ports to a worker");
  tunnel->add_option("POD", pod->pod, "name of the pod")->required();
  tunnel->add_option("PORT", pod->ports,
                     "[LOCAL:]REMOTE, or a name of the pod's `tunnels`; none: all of these");
  AddOpen(tunnel, &pod->open);
  AddWorkers(tunnel, &pod->workers, "number of the worker (default 0)", "N");
}

std::string ExecConflict(const PodOptions& pod, const ExecOptions& exec, bool json) {
  if (pod.command.empty() && exec.retry_failed.empty()) {
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
      {pod.tty, "--tty"},
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
    if (pod.tty && given) {
      return together("--tty", flag, "a terminal is for one worker and for somebody before it");
    }
  }
  return {};
}

}  // namespace podctl
