// `podctl cp SRC… DST`: copies files and folders to or from the workers of a pod, all of them at
// once. Folders are copied with what is in them; links are followed, owners and times are not
// copied.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/views/byte_count.h"
#include "cmd/views/exec_output.h"
#include "cmd/views/exec_progress.h"
#include "cmd/wiring.h"
#include "plans/fleet/cp/copy.h"
#include "plans/session/known_pods.h"
#include "plans/session/loss_watch.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/tar/remote_texts.h"

namespace podctl {
namespace {

struct CpOptions {
  std::vector<std::string> paths;  // SRC… DST
  std::string workers;             // --worker
  bool recursive = false;          // -r, as scp wants it: folders are copied anyway
};

// "1.2 GiB of 3.0 GiB".
std::string Amount(const Copy::Progress& progress) {
  if (!progress.all) return ByteCount(progress.done);
  return fmt::format("{} of {}", ByteCount(progress.done), ByteCount(*progress.all));
}

// What a worker said of its failure is told once, by cause, where it is a line. Of a single worker
// there is no summary.
void TakeWords(CopyReport* report) {
  std::vector<ssh::WorkerResult>& results = report->outcome.results;
  if (results.size() == 1) return;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto lines = SplitLines(report->words[i]);
    const bool failed = results[i].outcome == ssh::Outcome::kExited && results[i].exit_code != 0;
    if (!failed || lines.size() != 1) continue;
    results[i].cause = ssh::OtherCause(VisibleControls(lines.front()));
    report->words[i].clear();
  }
}

// What the workers said, and what was wrong with what they sent; how many have such problems.
std::size_t TellProblems(const CopyReport& report, Reporter& reporter, Streams& streams) {
  std::size_t count = 0;
  const std::vector<ssh::Job>& jobs = report.outcome.jobs;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (const std::string& line : SplitLines(report.words[i])) {
      streams.err << fmt::format("{} | {}\n", jobs[i].worker.Name(), VisibleControls(line));
    }
  }
  const WorkerAccess& any = jobs.front().worker;
  for (const auto& group : report.problems.groups()) {
    streams.err << fmt::format("{}: {}\n", WorkersName(any.pod, group.workers, any.per_slice),
                               group.what);
    count += group.workers.size();
  }
  if (report.trouble) {
    reporter.ShowError(
        report.upload ? "the copies are not whole" : "the files could not be written here",
        *report.trouble);
    ++count;
  }
  return count;
}

// The same once more, for those that have not all of it; empty where that is not worth it.
std::string Again(const CopyPlan& plan, const CopyReport& report) {
  const WorkerAccess& any = report.outcome.jobs.front().worker;
  if (report.outcome.jobs.size() == 1 || report.missing.empty()) return {};
  const std::string place = fmt::format("{}{}{}:", any.pod, any.per_slice > 0 ? "" : "/",
                                        FormatWorkers(report.missing, any.per_slice));
  std::string text = "podctl cp";
  for (const std::string& source : plan.sources) {
    text += " " + ShellQuote(plan.upload ? source : place + source);
  }
  return text + " " + ShellQuote(plan.upload ? place + plan.destination : plan.destination);
}

int Report(const CopyPlan& plan, const CopyReport& report, Reporter& reporter, Streams& streams) {
  const ExecOutcome& outcome = report.outcome;
  const std::size_t problems = TellProblems(report, reporter, streams);
  int code = ExecExitCode(outcome);
  if (code == tar::kNothingToPack) code = 1;  // for podctl's own eyes
  if (problems > 0 && code == 0) code = 1;
  const auto event = [&] { return ExecSummaryEvent(outcome, code, report.elapsed); };
  if (reporter.Event(event)) return code;
  const std::string again = Again(plan, report);
  const std::string summary = ExecSummary(outcome, again);
  streams.err << summary;
  if (summary.empty() && problems > 0 && !again.empty()) {
    streams.err << fmt::format("To run it again on just those: {}\n", again);
  }
  if (const std::string meant = MeantWorkers(plan); code != 0 && !meant.empty()) {
    streams.err << fmt::format(
        "Did you mean `{}`? Behind a pod's name workers stand after a `/`.\n",
        VisibleControls(meant));
  }
  if (code != 0) return code;
  const std::string whom = outcome.jobs.size() == 1 ? outcome.jobs.front().worker.Name()
                                                    : Plural(outcome.jobs.size(), "worker");
  streams.err << fmt::format("Copied {}, {} {} {}, in {:.1f} s.\n", Plural(report.files, "file"),
                             ByteCount(report.bytes), report.upload ? "to" : "from", whom,
                             static_cast<double>(report.elapsed.count()) / 1000);
  return code;
}

int RunCp(Wiring& wiring, const CpOptions& options) {
  Reporter& reporter = wiring.reporter();
  auto plan = ReadCopy(options.paths, options.workers);
  if (!plan) return reporter.ShowFailure(plan.error());
  const KnownPods pods(wiring.pod_doors());
  auto chosen = pods.Choose(plan->pod, plan->workers);
  if (!chosen) return reporter.ShowFailure(chosen.error());
  Copy copy(wiring.files(), wiring.clock(), *std::move(plan), std::move(chosen->workers));
  if (auto ready = copy.Prepare(wiring.random()); !ready)
    return reporter.ShowFailure(ready.error());
  const StopTokens stops = wiring.stops();
  ExecDisplay::Settings settings;
  settings.lines = false;  // what workers say is told at the end, by cause
  settings.stops = stops;
  settings.amount = [&copy] { return Amount(copy.HowFar()); };
  ExecDisplay display(wiring.streams(), wiring.clock(), std::move(settings));
  LossAwareTransport ssh(wiring.ssh(), pods);
  CopyReport report = copy.Run(ssh, display, stops);
  TakeWords(&report);
  pods.Remember(chosen->target.address, LearnedKeys(report.outcome));
  const int code = Report(copy.plan(), report, reporter, wiring.streams());
  const std::string advice = pods.SilenceAdvice(copy.plan().pod, report.outcome.results);
  if (!advice.empty()) wiring.streams().err << advice << "\n";
  return code;
}

constexpr Flag kCpFlags[] = {
    Naming(Flag::Names::kPath,
           Required(ManyValues<&CpOptions::paths>(
               "PATH", "", "SRC… DST; on workers POD:PATH or POD/WORKERS:PATH"))),
    WorkerFlag<&CpOptions::workers>(),
    WithLetter(
        'r', Switch<&CpOptions::recursive>("--recursive", "as for scp: folders are copied anyway")),
};

}  // namespace

const Command commands::kCp("cp", "copy files to or from a pod's workers", kCpFlags,
                            WithWorld<RunCp>);

}  // namespace podctl
