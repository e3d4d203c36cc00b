// podctl run: a job of the spec, on its pod's workers or on this machine.
#include "cmd/commands/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/autostart.h"
#include "cmd/commands/jobs.h"
#include "cmd/commands/outputs.h"
#include "cmd/reporter.h"
#include "cmd/views/jobs_view.h"
#include "cmd/views/launch_view.h"
#include "cmd/views/round_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/run/outputs.h"
#include "plans/fleet/run/supervise.h"
#include "plans/jobs/launch.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/session/known_pods.h"
#include "plans/session/returning_jobs.h"
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
        fmt::format("`podctl apply --target pod.{}` makes it.", job.pod)));
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

int Detach(const ReturnDoors& doors, const DetachDoors& detach, const Spec& spec,
           const JobSpec& job, const RunRequest& request, const std::function<void()>& on_started,
           Reporter& reporter, Streams& streams) {
  const DetachHooks hooks{
      .on_event = [&](const PrepareEvent& news) { ShowRemark(streams, PrepareEventText(news)); },
      .on_start = [&](const DetachedStart& start,
                      const StartEvent& news) { TellStart(start, news, streams); }};
  const DetachReport done = ComesBack(job)
                                ? StartWritten(doors, detach, spec, job, request, hooks, reporter)
                                : DetachJob(detach, spec, job, request, hooks);
  if (!done.report.started.empty()) on_started();
  return ShowStart(done, doors.pods, reporter, streams);
}

// Whose output is to be seen; nullopt: everybody's. An error where the job runs on none of them.
Result<std::optional<std::set<int>>> WatchedWorkers(JobPod& pod, const Spec& spec,
                                                    const JobSpec& job, const RunOptions& options) {
  if (options.watched.empty()) return std::optional<std::set<int>>();
  const auto ready = PrepareLaunch(pod, spec, job, {options.arguments, options.workers, 1, ""});
  if (!ready) return ready.error();
  const auto chosen = SelectWorkers(ready->target, options.watched, "all");
  if (!chosen) return chosen.error();
  std::set<int> all;
  for (const WorkerAccess& worker : ready->workers) all.insert(worker.index);
  std::set<int> watched;
  for (const WorkerAccess& worker : *chosen) {
    if (all.contains(worker.index)) watched.insert(worker.index);
  }
  if (!watched.empty()) return std::make_optional(std::move(watched));
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("the job runs on none of the workers `{}`", options.watched),
                   "`--worker` chooses whose output is seen, `--on` where the job runs.");
}

// Where the outputs are, or why not all of them could be kept; the exit code, which was `code`.
int ShowKept(const RunOutputs& outputs, const RunOptions& options, int code, Reporter& reporter,
             Streams& streams) {
  if (outputs.trouble()) {
    reporter.ShowError("the outputs could not be kept", *outputs.trouble());
    return code == 0 ? 1 : code;
  }
  if (!options.output_dir.empty() && !streams.json) {
    streams.err << WhereOutputsAre(options.output_dir);
  }
  return code;
}

// Why the job was not started, or not again.
void ShowHindrance(const RunReport& report, const std::string& job, const KnownPods& pods,
                   Reporter& reporter, Streams& streams) {
  const Blocker& why = *report.blocker;
  if (why.error) return reporter.ShowError("", *why.error);
  if (!streams.json || why.answers.empty()) {
    ShowSilent(why.answers, pods, streams);
    if (why.answers.empty()) return;
    streams.err << fmt::format("Job {} was started on no worker{}: all have to answer first.\n",
                               job, report.begun ? " again" : "");
    return;
  }
  const std::string what = report.begun ? "it was not started again" : "nothing was started";
  reporter.ShowError("", SilenceError(what, why.answers, pods));
}

// What is kept beside its outputs.
ExecRecord RecordOf(const JobSpec& job, const workers::Run& run) {
  ExecRecord about;
  about.pod = PodAddress(job.pod).Text();
  about.job = job.name;
  about.command = {run.shown};
  return about;
}

// Exits with 0 when the job ended well everywhere, with the command's own code where those that
// failed agree on one, else 1; 130 when interrupted.
int RunJob(Wiring& wiring, const RunOptions& options) {
  Reporter& reporter = wiring.reporter();
  Streams& streams = wiring.streams();
  Diagnostics diagnostics;
  const Spec spec = wiring.ReadWholeSpec(diagnostics);
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
  const StopTokens stops = wiring.stops();
  PodRounds rounds(pods, PodAddress(job->pod).Text(), streams, wiring.clock(), wiring.ssh(), stops);
  RunRequest request = options;
  request.owner = UserName() + "@" + HostName();
  if (options.detach) {
    const StartedOnPods started(wiring.files(), wiring.environment(), wiring.StatePath());
    const auto on_started = [&] {
      NoteStarted(started, pods, job->pod, job->name, wiring.clock().Now());
    };
    const WantedJobsEdit wanted = wiring.wanted_jobs();
    return Detach(wiring.return_doors(pods, wanted),
                  {*rounds, wiring.files(), wiring.random(), pod}, spec, *job, request, on_started,
                  reporter, streams);
  }
  const auto watched = WatchedWorkers(pod, spec, *job, options);
  if (!watched) return reporter.ShowFailure(watched.error());
  const bool keeps = options.gather || options.diff || !options.output_dir.empty();
  ExecDisplay::Settings shown;
  // As with exec; but whoever names workers beside a folder wants to see them.
  shown.lines = !keeps || (!options.gather && !options.diff && *watched);
  shown.stops = stops;
  shown.timestamps = options.timestamps;
  shown.only = *watched;
  JobView view(streams, wiring.clock(), *job, shown);
  view.NoteWatch(FindDeclaredPod(spec, job->pod)->recreate_when_lost);
  const workers::Run run = RunOf(*job, request, wiring.random().Uuid().substr(0, 8));
  std::optional<RunOutputs> outputs;
  if (keeps) {
    outputs.emplace(
        view.Screen(), wiring.files(), wiring.clock(),
        RunOutputs::Settings{options.gather || options.diff, options.output_dir, options.overwrite,
                             *watched, ScratchFolder(wiring.environment())},
        RecordOf(*job, run));
    if (auto ready = outputs->Prepare(); !ready) return reporter.ShowFailure(ready.error());
    view.KeepIn(*outputs, options.diff);
  }
  const auto provider = wiring.provider();
  const JobDoors doors{
      wiring.ssh(), *rounds, wiring.clock(), wiring.files(), provider ? *provider : nullptr, pod};
  const RunReport report = SuperviseJob(doors, spec, *job, run, request, view, stops);
  if (report.blocker) ShowHindrance(report, job->name, pods, reporter, streams);
  const bool begun = report.end != RunReport::End::kNotBegun;
  if (outputs && report.blocker) outputs->OnNotBegun(report.blocker->answers);
  const int code = begun ? view.ShowEnd(report) : reporter.FailedExitCode();
  return outputs && begun ? ShowKept(*outputs, options, code, reporter, streams) : code;
}

// Flags about what is seen of a job, where nothing is to be seen.
std::string WatchConflict(const RunOptions& run) {
  const std::pair<bool, std::string_view> of_a_watched_one[] = {
      {!run.watched.empty(), "--worker"},
      {run.gather, "--gather"},
      {run.diff, "--diff"},
      {!run.output_dir.empty(), "--output-dir"},
      {run.timestamps, "--timestamps"},
  };
  for (const auto& [given, flag] : of_a_watched_one) {
    if (!given) continue;
    const std::string_view choose = flag == "--worker" ? "; where it runs is said by `--on`" : "";
    if (run.detach) {
      return NotTogether("--detach", flag,
                         fmt::format("`podctl logs` shows what a detached job writes{}", choose));
    }
    if (run.local) return NotTogether("--local", flag, "no worker has a part in it");
    if (run.print) {
      return NotTogether("--print", flag, fmt::format("nothing is started{}", choose));
    }
  }
  return {};
}

// Flags that do not go together: what is wrong, or "".
std::string RunConflict(const RunOptions& run, const GlobalOptions& global) {
  if (run.list) {
    return run.job.empty() ? "" : "`--list` shows all jobs: leave the name out";
  }
  if (run.job.empty()) return "`podctl run` needs more: podctl run JOB [flags] [-- ARGUMENT…]";
  const std::pair<bool, std::string_view> not_here[] = {
      {run.detach, "--detach"},         {!run.workers.empty(), "--on"}, {!run.drain, "--no-drain"},
      {run.drain_jobs, "--drain-jobs"}, {!run.sync, "--no-sync"},
  };
  for (const auto& [given, flag] : not_here) {
    if (run.local && given) return NotTogether("--local", flag, "no worker has a part in it");
  }
  if (std::string conflict = OutputConflict(run, global.json); !conflict.empty()) return conflict;
  if (std::string conflict = WatchConflict(run); !conflict.empty()) return conflict;
  if (!run.drain && run.drain_jobs) {
    return NotTogether("--no-drain", "--drain-jobs",
                       "one ends nothing, the other all that there is");
  }
  if (run.detach && run.print) {
    return NotTogether("--detach", "--print", "one starts it, the other only shows it");
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
    Naming(Flag::Names::kWorker,
           OneValue<&RunOptions::workers, RunOptions, &ReadWorkers>(
               "--on", "WORKERS", "run the job on these workers, not on its own: all, 0,2-3, …")),
    WorkerFlag<&RunOptions::watched>(
        "show the output of these: all (default), 0,2-3, …; the job runs on all of its workers"),
    GatherFlag<RunOptions>(),
    DiffFlag<RunOptions>(),
    OutputDirFlag<RunOptions>(),
    OverwriteFlag<RunOptions>(),
    TimestampsFlag<&RunOptions::timestamps, RunOptions>(),
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
