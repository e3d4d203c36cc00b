// `podctl logs POD NAME`: what a job of `exec --detach` has written, and writes.
#include "plans/fleet/logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/jobs.h"
#include "cmd/commands/kept_logs.h"
#include "cmd/commands/outputs.h"
#include "cmd/reporter.h"
#include "cmd/views/log_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/line_pattern.h"
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
  std::string grep;   // a pattern; empty: all lines
  bool kept = false;  // what is kept in a bucket, where the spec says
  std::string from;   // and where it does not: gs://BUCKET/PREFIX
  std::string since;  // of what is kept
  std::optional<int> attempt;

  bool reads_kept() const { return kept || !from.empty(); }
};

std::optional<LinePattern> PatternOf(const LogsOptions& options) {
  if (options.grep.empty()) return std::nullopt;
  auto pattern = LinePattern::Parse(options.grep);
  PODCTL_CHECK(pattern.has_value());  // it was read with the flags
  return *std::move(pattern);
}

KeptLogQuestion QuestionOf(const LogsOptions& options) {
  return {options.pod,   BarePodName(options.pod),
          options.job,   options.workers,
          options.since, options.attempt,
          options.tail,  {options.timestamps, PatternOf(options)}};
}

workers::LogRequest RequestOf(const LogsOptions& options) {
  workers::LogRequest request;
  request.name = options.job;
  request.follow = options.follow;
  if (options.tail > 0) request.tail = static_cast<std::uint64_t>(options.tail);
  return request;
}

PodNews NewsOf(const KnownPods& pods, const std::string& pod, const std::stop_token& stop) {
  const auto record = pods.Record(pod);
  if (!record) return {};
  auto loss = pods.AskLoss(pod, *record, stop);
  return {std::move(loss), pods.TroubleWords(pod)};
}

bool AllAre(const std::vector<LogEnd>& ends, LogEnd::Kind kind) {
  return std::all_of(ends.begin(), ends.end(), [&](const LogEnd& end) { return end.kind == kind; });
}

// Why nothing is to be had of the workers, where what is kept may do instead.
std::optional<Error> WhyGone(const std::vector<LogEnd>& ends, const LogsOptions& options,
                             const AskForPod& ask, const std::stop_token& stop) {
  if (AllAre(ends, LogEnd::Kind::kNoSuchJob)) {
    return NoSuchJob(options.job, BarePodName(options.pod));
  }
  return AllAre(ends, LogEnd::Kind::kFailed) ? ask(stop).loss : std::nullopt;
}

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

bool AnyIs(const std::vector<LogEnd>& ends, LogEnd::Kind kind) {
  return std::any_of(ends.begin(), ends.end(), [&](const LogEnd& end) { return end.kind == kind; });
}

// What became of the job on those who have it; the exit code.
int ShowHowItEnded(const LogsOptions& options, const KnownPods& pods, StartedJobs started,
                   ChosenWorkers& chosen, LogsReport& report, LogView& view, Streams& streams) {
  const bool over = !AnyIs(report.ends, LogEnd::Kind::kOpen) &&
                    !AnyIs(report.ends, LogEnd::Kind::kFailed) &&
                    !AnyIs(report.ends, LogEnd::Kind::kStopped);
  const std::string next_run = report.NextRun();
  if (over && next_run.empty() && options.workers.empty()) {
    started.Ended(options.job);
  }
  const bool named = !options.workers.empty() || !chosen.target.named.empty();
  if (!named) report.LeaveOutOthers(&chosen.workers);
  view.ShowEnds(chosen.workers, report.ends, options.job);
  const bool well = std::all_of(report.ends.begin(), report.ends.end(), [](const LogEnd& end) {
    return end.kind == LogEnd::Kind::kEnded && end.exit_code == 0 && end.ended_by.empty();
  });
  if (options.follow && well && !streams.json) {
    streams.err << fmt::format("Job {} ended well on {}.\n", options.job,
                               Plural(report.ends.size(), "worker"));
  }
  SayNextRun(options, next_run, streams);
  const bool silent = AnyIs(report.ends, LogEnd::Kind::kFailed);
  const std::string loss = silent ? pods.StandingAdvice(options.pod) : "";
  if (!loss.empty()) streams.err << loss << "\n";
  return report.ExitCode();
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
  const KeptLogs kept({[&](Diagnostics& problems) { return wiring.ReadSpec(problems); },
                       [&] { return wiring.storage(); }, wiring.files(), wiring.clock(), reporter,
                       wiring.streams(), wiring.interrupt().drain()},
                      QuestionOf(options));
  if (options.reads_kept()) return kept.Show(options.from);
  // Who waits for lines is not shown old ones.
  const auto instead = [&](const Error& why) {
    return options.follow || options.resume ? std::nullopt : kept.ShowInstead(why);
  };
  const KnownPods pods(wiring.pod_doors());
  const auto read_spec = [&] {
    Diagnostics ignored;
    return wiring.ReadSpec(ignored);
  };
  const ReturnQuestion returning{reporter, pods, wiring.clock(), read_spec,
                                 wiring.interrupt().drain()};
  auto chosen = pods.Choose(options.pod, options.workers);
  if (!chosen) {
    const bool is_gone = chosen.error().code == ErrorCode::kNotFound ||
                         chosen.error().code == ErrorCode::kFailedPrecondition;
    const auto shown = is_gone ? instead(chosen.error()) : std::nullopt;
    if (shown) return *shown;
    reporter.ShowFailure(chosen.error());
    if (is_gone) SayThatItReturns(returning, BarePodName(options.pod), options.job, true);
    return reporter.FailedExitCode();
  }
  std::stop_source stop;
  const std::stop_callback on_drain(wiring.interrupt().drain(), [&stop] { stop.request_stop(); });
  LogView view(wiring.streams(), chosen->workers, stop,
               options.timestamps ? &wiring.clock() : nullptr);
  KeptFile places(wiring.files(), wiring.environment(), "logs", wiring.StatePath(),
                  fmt::format("{}.{}", chosen->target.address, options.job));
  LossAwareTransport ssh(wiring.ssh(), pods);
  const std::string pod = BarePodName(options.pod);
  const auto ask = [&](const std::stop_token& end) { return NewsOf(pods, pod, end); };
  std::optional<FittingLines> fitting;
  if (auto pattern = PatternOf(options)) fitting.emplace(*std::move(pattern), view);
  LogWatcher& watcher = fitting ? static_cast<LogWatcher&>(*fitting) : view;
  LogsReport report = ReadLogs(ssh, wiring.clock(), places, chosen->workers, RequestOf(options),
                               options.resume, ask, watcher, stop.get_token());
  pods.Remember(chosen->target.address, report.learned);
  if (reporter.interrupted()) return SayHowToGoOn(options, wiring.streams());
  if (!wiring.streams().out) return 1;  // main() says why, where anybody can be told
  if (const auto why = WhyGone(report.ends, options, ask, stop.get_token())) {
    if (const auto shown = instead(*why)) return *shown;
  }
  if (AllAre(report.ends, LogEnd::Kind::kNoSuchJob)) {
    return reporter.ShowFailure(NoSuchJob(options.job, BarePodName(options.pod)));
  }
  const StartedOnPods started(wiring.files(), wiring.environment(), wiring.StatePath());
  const int code =
      ShowHowItEnded(options, pods, started.On(pod), *chosen, report, view, wiring.streams());
  const bool lost =
      AnyIs(report.ends, LogEnd::Kind::kFailed) && ask(wiring.interrupt().drain()).loss.has_value();
  const bool nowhere =
      AllAre(report.ends, LogEnd::Kind::kFailed) || AllAre(report.ends, LogEnd::Kind::kDied);
  if (lost || nowhere) SayThatItReturns(returning, pod, options.job, lost);
  return code;
}

std::string LogsConflict(const LogsOptions& options, const GlobalOptions&) {
  if (options.reads_kept()) {
    if (options.kept && !options.from.empty()) {
      return "`--kept` and `--from` cannot be used together: `--from` says where it is kept";
    }
    if (!options.follow && !options.resume) return {};
    return fmt::format("`{}` and `{}` cannot be used together: only a log on the workers {}",
                       options.kept ? "--kept" : "--from", options.follow ? "--follow" : "--resume",
                       options.follow ? "can be followed" : "has a place where it was left");
  }
  if (!options.since.empty() || options.attempt) {
    return fmt::format(
        "`{}` is for what is kept in a bucket, give `--kept` too: a log on a worker holds no times",
        options.attempt ? "--attempt" : "--since");
  }
  // Of a line that stands there already nobody knows when it was written.
  if (!options.timestamps || options.follow) return {};
  return "`--timestamps` tells when a line comes here: give `--follow` too";
}

constexpr int kMostTail = 1'000'000;
constexpr int kLastAttempt = 1'000'000;

std::string ReadLogSince(const Flag&, const std::string& text, std::string* since) {
  *since = text;
  if (LogTimeOf(text, LogTime())) return {};
  return fmt::format("`{}` is neither a duration (2h) nor a time (2026-11-27T09:00:00Z)", text);
}

std::string ReadLogGrep(const Flag&, const std::string& text, std::string* grep) {
  *grep = text;
  const auto pattern = LinePattern::Parse(text);
  return pattern ? "" : pattern.error().message;
}

std::string ReadLogPlace(const Flag&, const std::string& text, std::string* from) {
  *from = text;
  const auto place = gcp::ParseStoragePlace(text);
  return place ? "" : place.error().message;
}

constexpr Flag kLogsFlags[] = {
    PodArgument<&LogsOptions::pod>(),
    WorkerFlag<&LogsOptions::workers>(),
    Naming(Flag::Names::kJob, Required(OneValue<&LogsOptions::job>("JOB", "", "name of the job"))),
    Switch<&LogsOptions::follow>("--follow", "until the job has ended, with its exit code"),
    Switch<&LogsOptions::resume>("--resume", "only what was not shown here before"),
    Within(1, kMostTail, OneValue<&LogsOptions::tail>("--tail", "N", "only so many last lines")),
    TimestampsFlag<&LogsOptions::timestamps, LogsOptions>(),
    OneValue<&LogsOptions::grep, LogsOptions, &ReadLogGrep>("--grep", "PATTERN",
                                                            "only lines that fit, as with grep -E"),
    Switch<&LogsOptions::kept>("--kept", "what is kept in the bucket of the job's `logs`"),
    OneValue<&LogsOptions::from, LogsOptions, &ReadLogPlace>(
        "--from", "URL", "the same of gs://BUCKET/PREFIX, without a spec"),
    OneValue<&LogsOptions::since, LogsOptions, &ReadLogSince>(
        "--since", "TIME", "of what is kept: from then on; 2h, 2026-11-27T09:00:00Z"),
    Within(1, kLastAttempt,
           OneValue<&LogsOptions::attempt>("--attempt", "N", "of what is kept: one attempt")),
};

}  // namespace

const Command commands::kLogs("logs", "show what a job has written", kLogsFlags, WithWorld<RunLogs>,
                              LogsConflict);

}  // namespace podctl
