#include "cmd/commands/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/jobs.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/run/prepare.h"
#include "cmd/commands/run/supervise.h"
#include "cmd/context.h"
#include "cmd/views/launch_view.h"
#include "plans/jobs/command_text.h"
#include "plans/jobs/launch.h"
#include "plans/spec/near_words.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/os/become.h"

namespace podctl {
namespace {

// For --print: a run is named when it begins.
constexpr const char* kNoRunYet = "<named at the start>";

Error NoSuchJob(const Spec& spec, const std::string& name) {
  std::vector<std::string> known;
  for (const JobSpec& job : spec.jobs) known.push_back(job.name);
  std::string hint = "Write it below `jobs:`.";
  const std::string near = SuggestWord(name, known);
  if (!near.empty()) {
    hint = fmt::format("Did you mean `{}`?", near);
  } else if (!known.empty()) {
    hint = "`podctl run --list` shows those that there are.";
  }
  return MakeError(ErrorCode::kNotFound, fmt::format("there is no job `{}` in the spec", name),
                   hint);
}

int ListJobs(Wiring& wiring, const Spec& spec) {
  wiring.streams().out << (wiring.options().json
                               ? ToJson(JobsOfSpecDocument(spec.jobs), JsonStyle::kIndented) + "\n"
                               : JobsOfSpecTable(spec.jobs));
  return 0;
}

void Show(Wiring& wiring, const JobSpec& job, const LaunchPod* pod, const Launch& launch) {
  wiring.streams().out << (wiring.options().json
                               ? ToJson(LaunchDocument(job, pod, launch), JsonStyle::kIndented) +
                                     "\n"
                               : ShowLaunch(job, pod, launch))
                       << std::flush;
}

// What would run, from the state where the pod is there, else from the spec.
int PrintJob(Wiring& wiring, const Spec& spec, const JobSpec& job, const RunOptions& options) {
  const auto pod_spec = std::find_if(spec.pods.begin(), spec.pods.end(),
                                     [&](const PodSpec& each) { return each.name == job.pod; });
  PODCTL_CHECK(pod_spec != spec.pods.end());
  auto stored = wiring.OpenStore(wiring.StatePath(spec))->Load();
  if (!stored) return ShowFailure(wiring, stored.error());
  const State state = std::move(stored->state).value_or(State{});
  const auto record = state.pods.find(PodAddress(job.pod));
  const auto pod = LaunchPodOf(*pod_spec, record == state.pods.end() ? nullptr : &record->second);
  if (!pod) {
    return ShowFailure(wiring,
                       MakeError(ErrorCode::kFailedPrecondition,
                                 fmt::format("pod.{} is not there yet, and how many workers it "
                                             "will have is not known",
                                             job.pod),
                                 "`podctl apply` makes it."));
  }
  const auto launch = MakeLaunch(job, *pod, {options.arguments, options.workers, 1, kNoRunYet});
  if (!launch) return ShowFailure(wiring, launch.error());
  Show(wiring, job, &*pod, *launch);
  return 0;
}

int RunHere(Wiring& wiring, const JobSpec& job, const RunOptions& options) {
  const auto made =
      MakeLocalLaunch(job, {options.arguments, "", 1, options.print ? kNoRunYet : "local"});
  if (!made) return ShowFailure(wiring, made.error());
  const Launch& launch = *made;
  if (options.print) {
    Show(wiring, job, nullptr, launch);
    return 0;
  }
  const WorkerLaunch& here = launch.workers.front();
  wiring.streams().out << std::flush;
  wiring.streams().err << std::flush;
  // Nothing is left to do here: the command is this process from now on, with its terminal, its
  // signals and its exit code.
  return ShowFailure(
      wiring, BecomeProgram({"/bin/sh", "-c", FilesText(job, launch) + here.script}, here.env));
}

}  // namespace

int StartDetached(Wiring& wiring, const Spec& spec, const JobSpec& job, const RunOptions& options) {
  auto ready = PrepareLaunch(wiring, spec, job, options, 1, "");
  if (!ready) return ShowFailure(wiring, ready.error());
  const auto stopped = [&] { return wiring.interrupt().requested() ? kInterruptedExitCode : 1; };
  RunOptions detached = options;
  detached.detach = true;
  if (options.drain && !DrainForJob(wiring, *ready, job, detached, "")) return stopped();
  if (options.sync && !SyncForJob(wiring, ready->target, ready->workers, job)) return stopped();
  DetachedStart start;
  start.name = job.name;
  const std::string files = FilesText(job, ready->launch);
  start.identity = files + ready->launch.workers.front().script;
  for (const auto& [name, value] : job.env) {
    start.identity += fmt::format("{}={}\n", name, ShellQuote(value));
  }
  for (std::size_t i = 0; i < ready->workers.size(); ++i) {
    const WorkerLaunch& worker = ready->launch.workers[i];
    start.workers.push_back(ready->workers[i]);
    start.commands.push_back(files + worker.script);
    start.environments.push_back(worker.env);
  }
  start.grace = job.grace;
  start.container = ContainerOf(job);
  if (job.restart.attempts > 0 && options.tell && !wiring.options().json) {
    wiring.streams().err << "A detached job is not started again: `podctl run` without `--detach` "
                            "watches over it.\n";
  }
  return StartOnWorkers(wiring, ready->target, start, options.tell);
}

int RunJob(Wiring& wiring, const RunOptions& options) {
  Diagnostics diagnostics;
  const Spec spec =
      LoadSpec(wiring.SpecOptions(), wiring.files(), wiring.environment(), diagnostics);
  if (options.list && !diagnostics.has_errors()) return ListJobs(wiring, spec);
  ShowDiagnostics(wiring, nullptr, diagnostics);
  if (diagnostics.has_errors()) return 1;
  const auto job = std::find_if(spec.jobs.begin(), spec.jobs.end(),
                                [&](const JobSpec& each) { return each.name == options.job; });
  if (job == spec.jobs.end()) return ShowFailure(wiring, NoSuchJob(spec, options.job));
  if (options.local) return RunHere(wiring, *job, options);
  if (options.print) return PrintJob(wiring, spec, *job, options);
  if (options.detach) return StartDetached(wiring, spec, *job, options);
  return SuperviseJob(wiring, spec, *job, options);
}

namespace {

// Flags that do not go together: what is wrong, or "".
std::string RunConflict(const RunOptions& run, const GlobalOptions&) {
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

using Of = FlagsOf<RunOptions>;

constexpr Flag kFlags[] = {
    Naming(Flag::Names::kJob, Of::Value<&RunOptions::job>("JOB", "", "name of the job")),
    Of::Switch<&RunOptions::detach>(
        "--detach", "start it so that it outlives the connection; see jobs, logs and kill"),
    Of::Switch<&RunOptions::local>("--local", "the same command on this machine, without a TPU"),
    Of::Switch<&RunOptions::print>("--print", "only show what would run where"),
    Of::Switch<&RunOptions::list>("--list", "list the jobs of the spec"),
    Of::Workers<&RunOptions::workers>("all, 0,2-3, … in place of the job's own"),
    Of::Switch<&RunOptions::drain, false>("--no-drain", "leave what earlier runs left alone"),
    Of::Switch<&RunOptions::drain_jobs>(
        "--drain-jobs",
        "end other jobs of podctl that hold the chips it needs, and an earlier start of this one"),
    Of::Switch<&RunOptions::sync, false>("--no-sync", "leave the job's files as they are there"),
    BehindDashes(false, Of::Values<&RunOptions::arguments>(
                            "ARGUMENT", "", "further arguments of the command, after --")),
};

const CommandOf<RunOptions> kCommand("run", "run a job of the spec on its pod's workers", kFlags,
                                     WithWorld<RunJob>, RunConflict);

}  // namespace

const Command& commands::kRun = kCommand;

}  // namespace podctl
