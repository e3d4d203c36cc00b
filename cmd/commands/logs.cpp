// `podctl logs POD NAME`: what a job of `exec --detach` has written, and writes.
#include "plans/fleet/logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cmd/command.h"
#include "cmd/commands/jobs.h"
#include "cmd/commands/outputs.h"
#include "cmd/reporter.h"
#include "cmd/views/log_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/started_jobs.h"
#include "plans/session/known_pods.h"
#include "plans/session/loss_watch.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

struct LogsOptions {
  std::string pod;
  std::string workers;  // --worker; empty: all that have the job
  std::string job;
  bool follow = false;
  bool resume = false;  // from where they stopped
  int tail = 0;         // so many last lines; 0: all
  bool timestamps = false;
};

// Of a follow that somebody interrupted; the exit code.
int SayHowToGoOn(const LogsOptions& options, Streams& streams) {
  if (options.follow && !streams.json) {
    const std::string some =
        options.workers.empty() ? "" : " --worker " + ShellQuote(options.workers);
    streams.err << fmt::format(
        "{1} was left alone. From here on it is followed with: podctl logs {0} {1}{2} --follow "
        "--resume\n",
        options.pod, options.job, some);
  }
  return kInterruptedExitCode;
}

// `run`: what has taken the place of the one that was read; empty: nothing has.
void SayNextRun(const LogsOptions& options, const std::string& run, Streams& streams) {
  if (run.empty()) return;
  streams.err << fmt::format(
      "{0} was started anew (run {1}): follow it with: podctl logs {2} {0} --follow\n", options.job,
      run, options.pod);
}

// With `follow` until the job has ended on all chosen workers, with its exit code: theirs when they
// agree, else 1. A worker whose connection breaks is taken up again where it stopped. Where another
// run of that name takes its place, that is said, and the run that was followed is summed up.
int RunLogs(Wiring& wiring, const LogsOptions& options) {
  Reporter& reporter = wiring.reporter();
  if (!workers::IsJobName(options.job)) {
    return reporter.ShowFailure(
        MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` is no name of a job", options.job),
                  fmt::format("`podctl jobs {}` lists them.", options.pod)));
  }
  const KnownPods pods(wiring.pod_doors());
  auto chosen = pods.Choose(options.pod, options.workers);
  if (!chosen) return reporter.ShowFailure(chosen.error());
  workers::LogRequest request;
  request.name = options.job;
  request.follow = options.follow;
  if (options.tail > 0) request.tail = static_cast<std::uint64_t>(options.tail);
  std::stop_source stop;
  const std::stop_callback on_drain(wiring.interrupt().drain(), [&stop] { stop.request_stop(); });
  LogView view(wiring.streams(), chosen->workers, stop,
               options.timestamps ? &wiring.clock() : nullptr);
  KeptFile places(wiring.files(), wiring.environment(), "logs", wiring.StatePath(),
                  fmt::format("{}.{}", chosen->target.address, options.job));
  LossAwareTransport ssh(wiring.ssh(), pods);
  const std::string pod = BarePodName(options.pod);
  const auto ask = [&](const std::stop_token& end) -> PodNews {
    const auto record = pods.Record(pod);
    if (!record) return {};
    auto loss = pods.AskLoss(pod, *record, end);
    return {std::move(loss), pods.TroubleWords(pod)};
  };
  LogsReport report = ReadLogs(ssh, wiring.clock(), places, chosen->workers, request,
                               options.resume, ask, view, stop.get_token());
  pods.Remember(chosen->target.address, report.learned);
  if (reporter.interrupted()) return SayHowToGoOn(options, wiring.streams());
  if (!wiring.streams().out) return 1;  // main() says why, where anybody can be told
  const bool none = std::all_of(report.ends.begin(), report.ends.end(), [](const LogEnd& end) {
    return end.kind == LogEnd::Kind::kNoSuchJob;
  });
  if (none) return reporter.ShowFailure(NoSuchJob(options.job, BarePodName(options.pod)));
  const bool over = std::none_of(report.ends.begin(), report.ends.end(), [](const LogEnd& end) {
    return end.kind == LogEnd::Kind::kOpen || end.kind == LogEnd::Kind::kFailed ||
           end.kind == LogEnd::Kind::kStopped;
  });
  const std::string next_run = report.NextRun();
  if (over && next_run.empty() && options.workers.empty()) {
    StartedOnPods(wiring.files(), wiring.environment(), wiring.StatePath())
        .On(pod)
        .Ended(options.job);
  }
  const bool named = !options.workers.empty() || !chosen->target.named.empty();
  if (!named) report.LeaveOutOthers(&chosen->workers);
  view.ShowEnds(chosen->workers, report.ends, options.job);
  const bool well = std::all_of(report.ends.begin(), report.ends.end(), [](const LogEnd& end) {
    return end.kind == LogEnd::Kind::kEnded && end.exit_code == 0 && end.ended_by.empty();
  });
  if (options.follow && well && !wiring.streams().json) {
    wiring.streams().err << fmt::format("Job {} ended well on {}.\n", options.job,
                                        Plural(report.ends.size(), "worker"));
  }
  SayNextRun(options, next_run, wiring.streams());
  const bool silent = std::any_of(report.ends.begin(), report.ends.end(), [](const LogEnd& end) {
    return end.kind == LogEnd::Kind::kFailed;
  });
  const std::string loss = silent ? pods.StandingAdvice(options.pod) : "";
  if (!loss.empty()) wiring.streams().err << loss << "\n";
  return report.ExitCode();
}

std::string LogsConflict(const LogsOptions& options, const GlobalOptions&) {
  // Of a line that stands there already nobody knows when it was written.
  if (!options.timestamps || options.follow) return {};
  return "`--timestamps` tells when a line comes here: give `--follow` too";
}

constexpr int kMostTail = 1'000'000;

constexpr Flag kLogsFlags[] = {
    PodArgument<&LogsOptions::pod>(),
    WorkerFlag<&LogsOptions::workers>(),
    Naming(Flag::Names::kJob, Required(OneValue<&LogsOptions::job>("JOB", "", "name of the job"))),
    Switch<&LogsOptions::follow>("--follow", "until the job has ended, with its exit code"),
    Switch<&LogsOptions::resume>("--resume", "only what was not shown here before"),
    Within(1, kMostTail, OneValue<&LogsOptions::tail>("--tail", "N", "only so many last lines")),
    TimestampsFlag<&LogsOptions::timestamps, LogsOptions>(),
};

}  // namespace

const Command commands::kLogs("logs", "show what a job has written", kLogsFlags, WithWorld<RunLogs>,
                              LogsConflict);

}  // namespace podctl
