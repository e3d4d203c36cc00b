// podctl run: a job of the spec, on its pod's workers or on this machine.
#include "cmd/commands/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/jobs.h"
#include "cmd/reporter.h"
#include "cmd/views/jobs_view.h"
#include "cmd/views/launch_view.h"
#include "cmd/views/round_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/run/supervise.h"
#include "plans/jobs/launch.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/session/known_pods.h"
#include "plans/spec/names.h"
#include "providers/os/child.h"
#include "providers/os/this_process.h"

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

void Show(Reporter& reporter, const JobSpec& job, const LaunchPod* pod, const Launch& launch) {
  reporter.Document([&] { return LaunchDocument(job, pod, launch); },
                    [&](Streams& streams) { streams.out << ShowLaunch(job, pod, launch); });
}

// What would run, from the state where the pod is there, else from the spec.
int PrintJob(Reporter& reporter, StateStore& store, const Spec& spec, const JobSpec& job,
             const RunOptions& options) {
  const PodSpec* pod_spec = FindDeclaredPod(spec, job.pod);
  PODCTL_CHECK(pod_spec != nullptr);
  auto stored = store.Load();
  if (!stored) return reporter.ShowFailure(stored.error());
  const State state = std::move(stored->state).value_or(State{});
  const PodRecord* record = Pods(state).Get(PodAddress(job.pod));
  const auto pod = LaunchPodOf(*pod_spec, record);
  if (!pod) {
    return reporter.ShowFailure(MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("pod.{} is not there yet, and how many workers it will have is not known",
                    job.pod),
        "`podctl apply` makes it."));
  }
  const auto launch = MakeLaunch(job, *pod, {options.arguments, options.workers, 1, kNoRunYet});
  if (!launch) return reporter.ShowFailure(launch.error());
  Show(reporter, job, &*pod, *launch);
  return 0;
}

int RunHere(Reporter& reporter, Streams& streams, const JobSpec& job, const RunOptions& options) {
  const auto made =
      MakeLocalLaunch(job, {options.arguments, "", 1, options.print ? kNoRunYet : "local"});
  if (!made) return reporter.ShowFailure(made.error());
  const Launch& launch = *made;
  if (options.print) {
    Show(reporter, job, nullptr, launch);
    return 0;
  }
  const WorkerLaunch& here = launch.workers.front();
  streams.out << std::flush;
  streams.err << std::flush;
  // Nothing is left to do here: the command is this process from now on, with its terminal, its
  // signals and its exit code.
  return reporter.ShowFailure(
      BecomeProgram({"/bin/sh", "-c", FilesText(job, launch) + here.script}, here.env));
}

int Detach(const DetachDoors& doors, const Spec& spec, const JobSpec& job, const RunWishes& wishes,
           const KnownPods& pods, Reporter& reporter, Streams& streams) {
  const DetachHooks hooks{
      .on_news = [&](const PrepareNews& news) { ShowRemark(streams, PrepareNewsText(news)); },
      .on_ready =
          [&] {
            if (job.restart.attempts == 0 || streams.json) return;
            streams.err << "A detached job is not started again: `podctl run` without `--detach` "
                           "watches over it.\n";
          },
      .on_start = [&](const DetachedStart& start,
                      const StartNews& news) { TellStart(start, news, streams); }};
  return ShowStart(DetachJob(doors, spec, job, wishes, hooks), pods, reporter, streams);
}

// Exits with 0 when the job ended well everywhere, with the command's own code where those that
// failed agree on one, else 1; 130 when interrupted.
int RunJob(Wiring& wiring, const RunOptions& options) {
  Reporter& reporter = wiring.reporter();
  Streams& streams = wiring.streams();
  Diagnostics diagnostics;
  const Spec spec = wiring.ReadSpec(diagnostics);
  if (options.list && !diagnostics.has_errors()) {
    reporter.Document([&] { return JobsOfSpecDocument(spec.jobs); },
                      [&](Streams&) { streams.out << JobsOfSpecTable(spec.jobs); });
    return 0;
  }
  reporter.Show(diagnostics);
  if (diagnostics.has_errors()) return 1;
  const auto job = std::find_if(spec.jobs.begin(), spec.jobs.end(),
                                [&](const JobSpec& each) { return each.name == options.job; });
  if (job == spec.jobs.end()) return reporter.ShowFailure(NoSuchJob(spec, options.job));
  if (options.local) return RunHere(reporter, streams, *job, options);
  if (options.print) {
    const auto store = wiring.OpenStore(wiring.state_choice().For(spec));
    return PrintJob(reporter, *store, spec, *job, options);
  }
  const KnownPods pods(wiring.pod_doors());
  PodByName pod(pods, job->pod);
  const Stops stops = wiring.stops();
  PodRounds rounds(pods, PodAddress(job->pod).Text(), streams, wiring.clock(), wiring.ssh(), stops);
  RunWishes wishes = options;
  wishes.owner = UserName() + "@" + HostName();
  if (options.detach) {
    return Detach({*rounds, wiring.files(), wiring.random(), pod}, spec, *job, wishes, pods,
                  reporter, streams);
  }
  JobView view(streams, wiring.clock(), *job, stops);
  const auto provider = wiring.provider();
  const JobDoors doors{
      wiring.ssh(), *rounds, wiring.clock(), wiring.files(), provider ? *provider : nullptr, pod};
  const workers::Run run = RunOf(*job, wishes, wiring.random().Uuid().substr(0, 8));
  const RunReport report = SuperviseJob(doors, spec, *job, run, wishes, view, stops);
  if (const auto& why = report.hindrance; why && why->error) {
    reporter.ShowError("", *why->error);
  } else if (why) {
    ShowSilent(why->answers, pods, streams);
  }
  const bool begun = report.end != RunReport::End::kNotBegun;
  return begun ? view.ShowEnd(report) : reporter.FailedExitCode();
}

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

constexpr Flag kRunFlags[] = {
    Naming(Flag::Names::kJob, OneValue<&RunOptions::job>("JOB", "", "name of the job")),
    Switch<&RunOptions::detach>(
        "--detach", "start it so that it outlives the connection; see jobs, logs and kill"),
    Switch<&RunOptions::local>("--local", "the same command on this machine, without a TPU"),
    Switch<&RunOptions::print>("--print", "only show what would run where"),
    Switch<&RunOptions::list>("--list", "list the jobs of the spec"),
    WorkerFlag<&RunOptions::workers, RunOptions>("all, 0,2-3, … in place of the job's own"),
    Switch<&RunOptions::drain, RunOptions, false>("--no-drain",
                                                  "leave what earlier runs left alone"),
    Switch<&RunOptions::drain_jobs, RunOptions>(
        "--drain-jobs",
        "end other jobs of podctl that hold the chips it needs, and an earlier start of this one"),
    Switch<&RunOptions::sync, RunOptions, false>("--no-sync",
                                                 "leave the job's files as they are there"),
    BehindDashes(false, ManyValues<&RunOptions::arguments, RunOptions>(
                            "ARGUMENT", "", "further arguments of the command, after --")),
};

}  // namespace

const Command commands::kRun("run", "run a job of the spec on its pod's workers", kRunFlags,
                             WithWorld<RunJob>, RunConflict);

}  // namespace podctl
