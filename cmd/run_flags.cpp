#include "cmd/run_flags.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "cmd/flag_kinds.h"

namespace podctl {

void AddRunCommand(CLI::App* app, RunOptions* run, PodOptions* pod) {
  CLI::App* command = AddCommand(app, "run", "run a job of the spec on its pod's workers");
  command->add_option("JOB", run->job, "name of the job");
  command->add_flag("--detach", run->detach,
                    "start it so that it outlives the connection; see jobs, logs and kill");
  command->add_flag("--local", run->local, "the same command on this machine, without a TPU");
  command->add_flag("--print", run->print, "only show what would run where");
  command->add_flag("--list", run->list, "list the jobs of the spec");
  AddWorkers(command, &run->workers, "all, 0,2-3, … in place of the job's own");
  command->add_flag_callback(
      "--no-drain", [run] { run->drain = false; }, "leave what earlier runs left alone");
  command->add_flag("--drain-jobs", run->drain_jobs,
                    "end other jobs of podctl that hold the chips it needs, and an earlier start "
                    "of this one");
  command->add_flag_callback(
      "--no-sync", [run] { run->sync = false; }, "leave the job's files as they are there");
  command->add_option("ARGUMENT", pod->command, "further arguments of the command, after --");
}

std::string RunConflict(const RunOptions& run) {
  const auto together = [](std::string_view one, std::string_view other, std::string_view why) {
    return fmt::format("`{}` and `{}` cannot be used together: {}", one, other, why);
  };
  if (run.list) {
    return run.job.empty() ? "" : "`--list` shows all jobs: leave the name out";
  }
  if (run.job.empty()) return "`podctl run` needs more: podctl run JOB [flags] [-- ARGUMENT…]";
  const std::pair<bool, std::string_view> not_here[] = {
      {run.detach, "--detach"},   {!run.workers.empty(), "--worker"},
      {!run.drain, "--no-drain"}, {run.drain_jobs, "--drain-jobs"},
      {!run.sync, "--no-sync"},
  };
  for (const auto& [given, flag] : not_here) {
    if (run.local && given) return together("--local", flag, "no worker has a part in it");
  }
  if (!run.drain && run.drain_jobs) {
    return together("--no-drain", "--drain-jobs", "one ends nothing, the other all that there is");
  }
  if (run.detach && run.print) {
    return together("--detach", "--print", "one starts it, the other only shows it");
  }
  return {};
}

}  // namespace podctl
