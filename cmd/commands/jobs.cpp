#include "cmd/commands/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cmd/command.h"
#include "cmd/commands/autostart.h"
#include "cmd/reporter.h"
#include "cmd/views/jobs_view.h"
#include "cmd/views/return_view.h"
#include "cmd/views/round_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/exec/request.h"
#include "plans/fleet/kept_logs.h"
#include "plans/session/awaited_jobs.h"
#include "plans/session/returning_jobs.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

// For the owner of the job: who ended it.
std::string KillWords(const std::string& pod, const std::string& job) {
  return fmt::format("{}@{}: podctl kill {} {}", UserName(), HostName(), pod, job);
}

// Of workers of a gang: how the others are, the one that was asked cannot tell.
Error UntoldError(const std::string& job, const std::string& pod, const std::vector<int>& workers,
                  int per_slice) {
  return MakeError(
      ErrorCode::kUnavailable,
      fmt::format("the others were not told: {} still runs on {}", job,
                  WorkersName(pod, workers, per_slice)),
      fmt::format("Workers hear of it from the first two of the job, which are gone or "
                  "cannot be reached by them. `podctl kill {} {}`, without "
                  "`--worker`, tells each of them.",
                  pod, job));
}

// Of a job that others of the pod do not have, `logs` is to be told on whom it runs.
std::string ChoiceFlag(const PodTarget& target, const DetachedStart& start) {
  if (start.workers.size() >= target.workers.size()) return "";
  std::vector<int> numbers;
  for (const WorkerAccess& worker : start.workers) numbers.push_back(worker.index);
  return " --worker " + ShellQuote(FormatWorkers(numbers, start.workers.front().per_slice));
}

}  // namespace

Error NoSuchJob(const std::string& job, const std::string& pod) {
  return MakeError(ErrorCode::kNotFound, fmt::format("there is no job `{}` on {}", job, pod),
                   fmt::format("`podctl jobs {}` lists them.", pod));
}

void TellStart(const DetachedStart& start, const StartEvent& news, Streams& streams) {
  const WorkerAccess& any = start.workers.front();
  if (!news.ended.empty()) {
    streams.err << fmt::format(
        "It ran on {} alone, which was ended: its workers begin together.\n",
        WorkersName(any.pod, {news.ended.begin(), news.ended.end()}, any.per_slice));
  }
  if (!news.already.empty()) {
    streams.err << fmt::format(
        "It runs on {} already; the others are started.\n",
        WorkersName(any.pod, {news.already.begin(), news.already.end()}, any.per_slice));
  }
  if (news.most) {
    streams.err << TooFewAtOnce(start.workers, *news.most)
                << ": the job begins on some workers before it does on others.\n";
  }
}

void NoteStarted(const StartedOnPods& started, const KnownPods& pods, const std::string& pod,
                 const std::string& job, Clock::SystemTime now) {
  const auto record = pods.Record(pod);
  if (record) started.On(pod).Started({job, FormatTimestamp(now), record->uid()});
}

int ShowStart(const DetachReport& done, const KnownPods& pods, Reporter& reporter,
              Streams& streams) {
  if (const auto& why = done.blocker) {
    if (why->error) return reporter.ShowFailure(*why->error);
    if (streams.json && !why->answers.empty()) {
      return reporter.ShowFailure(SilenceError("nothing was started", why->answers, pods));
    }
    ShowSilent(why->answers, pods, streams);
    if (!why->answers.empty()) {
      streams.err << "The job was started on no worker: all have to answer first.\n";
    }
    return reporter.FailedExitCode();
  }
  const StartReport& report = done.report;
  if (report.interrupted) return kInterruptedExitCode;
  ShowSilent(report.answers, pods, streams);
  if (report.refusal) return reporter.ShowFailure(*report.refusal);
  const std::string& job = done.start.name;
  const WorkerAccess& any = done.start.workers.front();
  reporter.Document(
      [&] { return StartedDocument(job, any.pod, report); },
      [&](Streams&) {
        streams.out << StartedText(job, any.pod, any.per_slice, report);
        if (report.Whole()) {
          streams.err << fmt::format("Watch it with: podctl logs {} {}{} --follow\n", any.pod, job,
                                     ChoiceFlag(done.target, done.start));
        } else if (!report.started.empty()) {
          streams.err << fmt::format(
              "The same command again starts what is missing; `podctl kill {} {}` ends the rest.\n",
              any.pod, job);
        } else {
          streams.err << "Nothing was started.\n";
        }
      });
  if (reporter.interrupted()) return kInterruptedExitCode;
  return report.Whole() ? 0 : 1;
}

int RunDetach(Wiring& wiring, const PodOptions& options, const ExecOptions& exec) {
  Reporter& reporter = wiring.reporter();
  Streams& streams = wiring.streams();
  auto variables = ReadVariables(exec.env, wiring.environment());
  if (!variables) return reporter.ShowFailure(variables.error());
  if (!workers::IsJobName(exec.detach)) return reporter.ShowFailure(BadJobName(exec.detach));
  const KnownPods pods(wiring.pod_doors());
  const auto chosen = pods.Choose(options.pod, options.workers);
  if (!chosen) return reporter.ShowFailure(chosen.error());
  const auto record = pods.Record(options.pod);
  if (!record) return reporter.ShowFailure(record.error());
  DetachReport done{.target = chosen->target};
  variables->insert(done.target.exec_env.begin(), done.target.exec_env.end());
  done.start = StartOfCommand(exec.detach, BarePodName(options.pod), *record, chosen->workers,
                              RemoteCommand(options.command, {}), *variables);
  PodRounds rounds(pods, done.target.address, streams, wiring.clock(), wiring.ssh(),
                   wiring.stops());
  done.report = StartJob(*rounds, wiring.random(), done.start,
                         [&](const StartEvent& news) { TellStart(done.start, news, streams); });
  if (!done.report.started.empty()) {
    const StartedOnPods started(wiring.files(), wiring.environment(), wiring.StatePath());
    NoteStarted(started, pods, BarePodName(options.pod), exec.detach, wiring.clock().Now());
  }
  return ShowStart(done, pods, reporter, streams);
}

struct JobsOptions {
  std::string pod;
  std::string workers;  // --worker; empty: all
};

struct KillOptions {
  std::string pod;
  std::string workers;  // --worker; empty: all
  std::string job;
  std::optional<std::chrono::milliseconds> grace;  // between TERM and KILL
};

namespace {

// What comes back with the pod and does not run now. `report`: nullptr: there is nobody to be
// asked; `whole`: all of its workers were.
std::vector<AwaitedJob> AwaitedOn(const ReturnQuestion& asked, const std::string& pod,
                                  const PodRecord& record, const JobsReport* report, bool whole) {
  if (record.jobs.empty()) return {};
  // The service may have taken a node of which the state does not know that yet.
  const bool silent = report != nullptr && report->found.empty();
  if (silent && asked.pods.AskLoss(pod, record, asked.stop)) report = nullptr;
  return AwaitedJobs(pod, record, asked.read_spec(), report, whole, asked.clock.Now());
}

// Of a pod that has no workers, for the reason `why`.
int ShowAwaitedAlone(const ReturnQuestion& asked, const std::string& pod, const Error& why) {
  std::vector<AwaitedJob> awaited;
  if (why.code == ErrorCode::kFailedPrecondition) {
    const auto record = asked.pods.Record(pod);
    if (record) awaited = AwaitedOn(asked, pod, *record, nullptr, true);
  }
  if (awaited.empty()) return asked.reporter.ShowFailure(why);
  asked.reporter.Document(
      [&] {
        Value document = JobsDocument(pod, {});
        document.Set("returning", AwaitedDocument(awaited));
        document.Set("no_workers", why.message);
        return document;
      },
      [&](Streams& streams) {
        streams.err << Sentence(why.message) << " " << why.hint << "\n";
        streams.out << AwaitedText(pod, awaited);
      });
  return 0;
}

}  // namespace

void SayThatItReturns(const ReturnQuestion& asked, const std::string& pod, const std::string& job,
                      bool lost) {
  const auto record = asked.pods.Record(pod);
  if (!record || !record->jobs.contains(job)) return;
  const Spec spec = asked.read_spec();
  PodRecord only = *record;
  std::erase_if(only.jobs, [&](const auto& each) { return each.first != job; });
  Reporter& reporter = asked.reporter;
  std::string how = WantedLines({{pod, only.jobs}});
  if (lost) {
    const auto awaited = AwaitedJobs(pod, only, spec, nullptr, true, asked.clock.Now());
    how = AwaitedText(pod, awaited);
  }
  reporter.Note(how.substr(0, how.find('\n')));
  reporter.Note(fmt::format("{} followed with: podctl logs {} {} --follow",
                            lost ? "Then it is" : "It is", pod, job));
  const JobSpec* returning = FindReturningJob(spec, pod, job);
  if (returning == nullptr || !KeptLogsOf(*returning)) return;
  reporter.Note(fmt::format("What it has written: podctl logs {} {} --kept", pod, job));
}

int RunJobs(Wiring& wiring, const JobsOptions& options) {
  Reporter& reporter = wiring.reporter();
  const std::string pod = BarePodName(options.pod);
  const KnownPods pods(wiring.pod_doors());
  const auto read_spec = [&] {
    Diagnostics ignored;
    return wiring.ReadSpec(ignored);
  };
  const ReturnQuestion asked{reporter, pods, wiring.clock(), read_spec, wiring.interrupt().drain()};
  const auto chosen = pods.Choose(options.pod, options.workers);
  if (!chosen) return ShowAwaitedAlone(asked, pod, chosen.error());
  PodRounds rounds(pods, chosen->target.address, wiring.streams(), wiring.clock(), wiring.ssh(),
                   wiring.stops());
  const JobsReport report = ListJobs(*rounds, chosen->workers, "");
  if (reporter.interrupted()) return kInterruptedExitCode;
  ShowSilent(report.answers, pods, wiring.streams());
  if (options.workers.empty() && AllAnswered(report.answers)) {
    StartedJobs started =
        StartedOnPods(wiring.files(), wiring.environment(), wiring.StatePath()).On(pod);
    for (const StartedJob& job : started.Load()) {
      if (!RunsSomewhere(report, job.name)) started.Ended(job.name);
    }
  }
  const bool whole = chosen->workers.size() == chosen->target.workers.size();
  const PodRecord record = pods.Record(pod).value_or(PodRecord());
  const auto awaited = AwaitedOn(asked, pod, record, &report, whole);
  reporter.Document(
      [&] {
        Value document = JobsDocument(pod, report.found);
        document.Set("returning", AwaitedDocument(awaited));
        return document;
      },
      [&](Streams& streams) {
        const bool any = std::any_of(report.found.begin(), report.found.end(),
                                     [](const WorkerJobs& each) { return !each.jobs.empty(); });
        // Of those who did not answer nobody knows; and what comes back is not none.
        if (any || (AllAnswered(report.answers) && awaited.empty())) {
          streams.out << JobsTable(report.found, streams.color && streams.out_is_terminal,
                                   chosen->workers.front().per_slice, record.jobs)
                      << UnheardText(report.answers);
        }
        streams.out << AwaitedText(pod, awaited);
      });
  return AllAnswered(report.answers) ? 0 : 1;
}

int RunKill(Wiring& wiring, const KillOptions& options) {
  Reporter& reporter = wiring.reporter();
  const std::string pod = BarePodName(options.pod);
  if (!workers::IsJobName(options.job)) return reporter.ShowFailure(BadJobName(options.job));
  const KnownPods pods(wiring.pod_doors());
  // First of all: its pod may be gone, and come back with it.
  const WantedJobsEdit wanted = wiring.wanted_jobs();
  const auto forgotten =
      ForgetWanted(wiring.return_doors(pods, wanted), pod, options.job, reporter);
  if (!forgotten) return reporter.FailedExitCode();
  const auto chosen = pods.Choose(options.pod, options.workers);
  if (!chosen && *forgotten && chosen.error().code == ErrorCode::kFailedPrecondition) {
    reporter.Note(fmt::format("Nothing of it can run there now: {}.", chosen.error().message));
    return 0;
  }
  if (!chosen) return reporter.ShowFailure(chosen.error());
  workers::JobKill kill{options.job, std::nullopt, KillWords(pod, options.job)};
  if (options.grace) kill.grace = std::chrono::ceil<std::chrono::seconds>(*options.grace);
  PodRounds rounds(pods, chosen->target.address, wiring.streams(), wiring.clock(), wiring.ssh(),
                   wiring.stops());
  const std::vector<WorkerAccess>& workers = chosen->target.workers;
  const KillReport report = KillJob(*rounds, workers, chosen->workers, kill);
  std::vector<WorkerAnswer> answers = report.answers;
  answers.insert(answers.end(), report.others.begin(), report.others.end());
  ShowSilent(answers, pods, wiring.streams());
  if (reporter.interrupted()) return kInterruptedExitCode;
  const bool all = AllAnswered(answers);
  if (all && !report.runs && answers.size() == workers.size()) {
    StartedOnPods(wiring.files(), wiring.environment(), wiring.StatePath())
        .On(pod)
        .Ended(options.job);
  }
  if (!report.known && all && *forgotten) return 0;  // which was said
  if (!report.known && all) {
    return reporter.ShowFailure(NoSuchJob(options.job, pod));
  }
  const int per_slice = chosen->workers.front().per_slice;
  const std::string text = KilledText(options.job, pod, per_slice, report);
  if (!report.untold.empty()) {
    if (!wiring.streams().json) wiring.streams().out << text;
    return reporter.ShowFailure(UntoldError(options.job, pod, report.untold, per_slice));
  }
  reporter.Document([&] { return JobsDocument(pod, report.found); },
                    [&](Streams& streams) { streams.out << text; });
  return report.runs || !all ? 1 : 0;
}

constexpr Flag kJobsFlags[] = {
    PodArgument<&JobsOptions::pod>(),
    WorkerFlag<&JobsOptions::workers>(),
};

const Command commands::kJobs("jobs", "list what `run` and `exec --detach` have started",
                              kJobsFlags, WithWorld<RunJobs>);

constexpr Flag kKillFlags[] = {
    PodArgument<&KillOptions::pod>(),
    WorkerFlag<&KillOptions::workers>(),
    Naming(Flag::Names::kJob, Required(OneValue<&KillOptions::job>("JOB", "", "name of the job"))),
    OneValue<&KillOptions::grace>(
        "--grace", "DURATION",
        "from TERM to KILL (default: the job's terminationGracePeriod, 30s)"),
};

const Command commands::kKill("kill", "end a job", kKillFlags, WithWorld<RunKill>);

}  // namespace podctl
