// `podctl drain POD`: ends what holds the TPU although nobody needs it any more.
#include "plans/fleet/drain.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/views/documents.h"
#include "cmd/views/round_view.h"
#include "cmd/wiring.h"
#include "providers/base/text.h"
#include "providers/base/value.h"

namespace podctl {
namespace {

using workers::DrainReport;
using workers::Holder;

std::string EndedWords(DrainReport::Ended::How how) {
  switch (how) {
    case DrainReport::Ended::How::kGone:
      return "had gone by itself";
    case DrainReport::Ended::How::kTerm:
      return "ended with TERM";
    case DrainReport::Ended::How::kKill:
      return "ended with KILL";
    case DrainReport::Ended::How::kRefused:
      return "could not be ended";
  }
  return "";
}

std::string DrainedLines(const Leftover& left, const DrainReport& report) {
  std::string text;
  for (const DrainReport::Ended& ended : report.ended) {
    const auto holder = std::find_if(left.victims.begin(), left.victims.end(),
                                     [&](const Holder& each) { return each.pid == ended.pid; });
    if (holder == left.victims.end()) continue;
    text += fmt::format("{}: pid {} of {} {}: {}\n", left.worker.Name(), ended.pid, holder->user,
                        EndedWords(ended.how), holder->command);
  }
  if (report.lock == DrainReport::Lock::kRemoved) {
    text += fmt::format("{}: /tmp/libtpu_lockfile removed\n", left.worker.Name());
  } else if (report.lock == DrainReport::Lock::kRefused) {
    text += fmt::format("{}: /tmp/libtpu_lockfile could not be removed\n", left.worker.Name());
  }
  return text;
}

// `report`: nullptr before it is ended.
Value WorkerDocument(const Leftover& left, const DrainReport* report) {
  const auto process = [&](const Holder& holder) {
    Value entry =
        Value::Map{{"pid", holder.pid}, {"user", holder.user}, {"command", holder.command}};
    if (report == nullptr) return entry;
    for (const DrainReport::Ended& ended : report->ended) {
      if (ended.pid == holder.pid) entry.Set("result", EndedWords(ended.how));
    }
    return entry;
  };
  return Value::Map{{"worker", left.worker.index},
                    {"processes", ListOf(left.victims, process)},
                    {"lock_file", left.lock_file}};
}

// "research/3: pid 4711 of alice, /dev/accel0, for 2h5m: python3 train.py".
std::string LeftoversText(const std::vector<Leftover>& leftovers) {
  std::string text;
  for (const Leftover& left : leftovers) {
    for (const Holder& holder : left.victims) {
      text += fmt::format("{}: {}: {}\n", left.worker.Name(), workers::DescribeHolder(holder),
                          holder.command);
    }
    if (left.victims.empty() && left.lock_file) {
      text += fmt::format("{}: /tmp/libtpu_lockfile, left behind\n", left.worker.Name());
    }
  }
  return text;
}

std::string LeftoversWords(const std::vector<Leftover>& leftovers) {
  std::size_t processes = 0;
  std::size_t locks = 0;
  for (const Leftover& left : leftovers) {
    processes += left.victims.size();
    locks += left.lock_file ? 1 : 0;
  }
  std::string text;
  if (processes > 0) {
    text = fmt::format("{} to end",
                       processes == 1 ? "1 process" : fmt::format("{} processes", processes));
  }
  if (locks > 0) {
    text += fmt::format("{}{} to remove", text.empty() ? "" : ", ", Plural(locks, "lock file"));
  }
  return fmt::format("{} on {}", text, Plural(leftovers.size(), "worker"));
}

std::string DrainedText(const std::vector<Leftover>& leftovers, const DrainOutcome& outcome) {
  std::string text;
  for (std::size_t i = 0; i < leftovers.size(); ++i) {
    if (outcome.reports[i]) text += DrainedLines(leftovers[i], *outcome.reports[i]);
  }
  return text;
}

Value DrainDocument(const std::string& pod, const std::vector<Leftover>& leftovers,
                    const DrainOutcome* outcome, bool dry_run) {
  Value::List workers;
  for (std::size_t i = 0; i < leftovers.size(); ++i) {
    if (outcome == nullptr) {
      workers.push_back(WorkerDocument(leftovers[i], nullptr));
    } else if (const auto& report = outcome->reports[i]) {
      workers.push_back(WorkerDocument(leftovers[i], &*report));
    }
  }
  return Value::Map{{"format_version", "1.0"},
                    {"pod", pod},
                    {"dry_run", dry_run},
                    {"workers", std::move(workers)}};
}

struct DrainOptions {
  std::string pod;
  std::string workers;                             // --worker; empty: all
  std::optional<std::chrono::milliseconds> grace;  // between TERM and KILL
  bool with_jobs = false;                          // jobs of podctl too
  bool dry_run = false;
  bool auto_approve = false;
};

Approval ApprovalOf(const std::string& what) {
  return {"ending processes needs to be approved, and there is nobody to ask",
          "Add `--auto-approve` to approve it in advance, or `--dry-run` to look.",
          fmt::format("\n{}. Running work is lost.\n  Only 'yes' will be accepted to "
                      "confirm.\n\n  Enter a value: ",
                      what),
          "Drain cancelled.", "Interrupted. Nothing was ended."};
}

int RunDrain(Wiring& wiring, const DrainOptions& options) {
  Reporter& reporter = wiring.reporter();
  Streams& streams = wiring.streams();
  const KnownPods pods(wiring.pod_doors());
  const auto chosen = pods.Choose(options.pod, options.workers);
  if (!chosen) return reporter.ShowFailure(chosen.error());
  const std::string pod = BarePodName(options.pod);
  PodRounds rounds(pods, chosen->target.address, streams, wiring.clock(), wiring.ssh(),
                   wiring.stops());
  const DrainSurvey survey = SurveyLeftovers(*rounds, chosen->workers, options.with_jobs);
  if (reporter.interrupted()) return kInterruptedExitCode;
  ShowSilent(survey.answers, pods, streams);
  const bool nothing = survey.leftovers.empty();
  if (!streams.json) streams.out << LeftoversText(survey.leftovers) << std::flush;
  const std::string what = LeftoversWords(survey.leftovers);
  if (nothing || options.dry_run) {
    reporter.Document(
        [&] { return DrainDocument(pod, survey.leftovers, nullptr, options.dry_run); },
        [&](Streams&) { streams.out << (nothing ? "Nothing to drain." : what + ".") << "\n"; });
    return survey.Whole() ? 0 : 1;
  }
  if (!options.auto_approve) {
    const int code = Approve(ApprovalOf(what), wiring.options().input, reporter, streams);
    if (code != 0) return code;
  }
  const auto grace = std::chrono::ceil<std::chrono::seconds>(options.grace.value_or(kEndingGrace));
  const DrainOutcome outcome = EndLeftovers(*rounds, survey.leftovers, grace);
  reporter.Document([&] { return DrainDocument(pod, survey.leftovers, &outcome, false); },
                    [&](Streams&) { streams.out << DrainedText(survey.leftovers, outcome); });
  ShowSilent(outcome.answers, pods, streams);
  return survey.Whole() && !outcome.something_left ? 0 : 1;
}

constexpr Flag kDrainFlags[] = {
    PodArgument<&DrainOptions::pod>(),
    WorkerFlag<&DrainOptions::workers>(),
    OneValue<&DrainOptions::grace>("--grace", "DURATION", "from TERM to KILL (default 30s)"),
    Switch<&DrainOptions::with_jobs>("--jobs", "also jobs of podctl"),
    Switch<&DrainOptions::dry_run>("--dry-run", "only show what would be ended"),
    Switch<&DrainOptions::auto_approve>("--auto-approve", "do not ask"),
};

}  // namespace

const Command commands::kDrain("drain", "end leftover processes that hold the TPU", kDrainFlags,
                               WithWorld<RunDrain>);

}  // namespace podctl
