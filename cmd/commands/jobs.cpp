#include "cmd/commands/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/pod_rounds.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "cmd/views/jobs_view.h"
#include "plans/fleet/exec/variables.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

// For the owner of the job: who ended it.
std::string KillWords(const std::string& pod, const std::string& job) {
  return fmt::format("{}@{}: podctl kill {} {}", UserName(), HostName(), pod, job);
}

void TellNews(Wiring& wiring, const StartNews& news, const DetachedStart& start) {
  const WorkerAccess& any = start.workers.front();
  if (!news.already.empty()) {
    wiring.streams().err << fmt::format(
        "It runs on {} already; the others are started.\n",
        WorkersName(any.pod, {news.already.begin(), news.already.end()}, any.per_slice));
  }
  if (news.most) {
    wiring.streams().err << TooFewAtOnce(start.workers, *news.most)
                         << ": the job begins on some workers before it does on others.\n";
  }
}

// Of a job that others of the pod do not have, `logs` is to be told on whom it runs.
std::string ChoiceFlag(const PodTarget& target, const DetachedStart& start) {
  if (start.workers.size() >= target.workers.size()) return "";
  std::vector<int> numbers;
  for (const WorkerAccess& worker : start.workers) numbers.push_back(worker.index);
  return " --worker " + ShellQuote(FormatWorkers(numbers, start.workers.front().per_slice));
}

int ShowStarted(Wiring& wiring, const PodTarget& target, const DetachedStart& start,
                const StartReport& report) {
  const WorkerAccess& any = start.workers.front();
  const bool whole = report.Whole();
  wiring.reporter().Document(
      [&] { return StartedDocument(start.name, any.pod, report); },
      [&](Streams& streams) {
        streams.out << StartedText(start.name, any.pod, any.per_slice, report);
        streams.err << (whole ? fmt::format("Watch it with: podctl logs {} {}{} --follow\n",
                                            any.pod, start.name, ChoiceFlag(target, start))
                              : fmt::format("The same command again starts what is missing; "
                                            "`podctl kill {} {}` ends the rest.\n",
                                            any.pod, start.name));
      });
  return whole ? 0 : 1;
}

}  // namespace

int StartOnWorkers(Wiring& wiring, const PodTarget& target, const DetachedStart& start, bool tell) {
  PodRounds rounds(wiring, target.address);
  const StartReport report = StartJob(*rounds, wiring.random(), start, [&](const StartNews& news) {
    TellNews(wiring, news, start);
  });
  if (report.interrupted) return kInterruptedExitCode;
  ShowSilent(wiring, report.answers);
  if (report.refusal) return wiring.reporter().ShowFailure(*report.refusal);
  const int code = tell || !report.Whole() ? ShowStarted(wiring, target, start, report) : 0;
  return wiring.interrupt().requested() ? kInterruptedExitCode : code;
}

int RunDetach(Wiring& wiring, const PodOptions& options, const ExecOptions& exec) {
  auto variables = ReadVariables(exec.env, wiring.environment());
  if (!variables) return wiring.reporter().ShowFailure(variables.error());
  if (!workers::IsJobName(exec.detach))
    return wiring.reporter().ShowFailure(BadJobName(exec.detach));
  const auto chosen = ChooseWorkers(wiring, options.pod, options.workers);
  if (!chosen) return wiring.reporter().ShowFailure(chosen.error());
  const auto record = FindRecord(wiring, options.pod);
  if (!record) return wiring.reporter().ShowFailure(record.error());
  const PodTarget& target = chosen->target;
  variables->insert(target.exec_env.begin(), target.exec_env.end());
  return StartOnWorkers(
      wiring, target,
      StartOfCommand(exec.detach, BarePodName(options.pod), *record, chosen->workers,
                     RemoteCommand(options.command, {}), *variables),
      true);
}

int RunJobs(Wiring& wiring, const JobsOptions& options) {
  const auto chosen = ChooseWorkers(wiring, options.pod, options.workers);
  if (!chosen) return wiring.reporter().ShowFailure(chosen.error());
  PodRounds rounds(wiring, chosen->target.address);
  const JobsReport report = ListJobs(*rounds, chosen->workers, "");
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  ShowSilent(wiring, report.answers);
  wiring.reporter().Document(
      [&] { return JobsDocument(BarePodName(options.pod), report.found); },
      [&](Streams& streams) {
        const bool any = std::any_of(report.found.begin(), report.found.end(),
                                     [](const WorkerJobs& each) { return !each.jobs.empty(); });
        // Of who did not answer nobody knows.
        if (!any && !AllAnswered(report.answers)) return;
        streams.out << JobsTable(report.found, streams.color && streams.out_is_terminal,
                                 chosen->workers.front().per_slice);
      });
  return AllAnswered(report.answers) ? 0 : 1;
}

int RunKill(Wiring& wiring, const KillOptions& options) {
  const std::string pod = BarePodName(options.pod);
  if (!workers::IsJobName(options.job))
    return wiring.reporter().ShowFailure(BadJobName(options.job));
  const auto chosen = ChooseWorkers(wiring, options.pod, options.workers);
  if (!chosen) return wiring.reporter().ShowFailure(chosen.error());
  workers::JobKill kill{options.job, std::nullopt, KillWords(pod, options.job)};
  if (options.grace) kill.grace = std::chrono::ceil<std::chrono::seconds>(*options.grace);
  PodRounds rounds(wiring, chosen->target.address);
  const KillReport report = KillJob(*rounds, chosen->workers, kill);
  ShowSilent(wiring, report.answers);
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  const bool all = AllAnswered(report.answers);
  if (!report.known && all) {
    return wiring.reporter().ShowFailure(
        MakeError(ErrorCode::kNotFound, fmt::format("there is no job `{}` on {}", options.job, pod),
                  fmt::format("`podctl jobs {}` lists them.", pod)));
  }
  wiring.reporter().Document([&] { return JobsDocument(pod, report.found); },
                             [&](Streams& streams) {
                               streams.out << KilledText(options.job, pod,
                                                         chosen->workers.front().per_slice, report);
                             });
  return report.runs || !all ? 1 : 0;
}

using Of = FlagsOf<JobsOptions>;

constexpr Flag kFlags[] = {
    Of::Pod<&JobsOptions::pod>(),
    Of::Workers<&JobsOptions::workers>(),
};

const CommandOf<JobsOptions> kCommand("jobs", "list what `run` and `exec --detach` have started",
                                      kFlags, WithWorld<RunJobs>);

const Command& commands::kJobs = kCommand;

}  // namespace podctl
