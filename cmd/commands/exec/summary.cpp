#include "cmd/commands/exec/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cmd/interrupt.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"

namespace podctl {
namespace {

using ssh::Outcome;

// What each kind of trouble means for who has to decide what to do next.
enum class Fate { kFailed, kLost, kCancelled, kSkipped };
constexpr std::size_t kFates = 4;
constexpr std::array<std::string_view, kFates> kFateNames = {"failed", "lost", "cancelled",
                                                             "skipped"};

Fate FateOf(const ssh::WorkerResult& result) {
  switch (result.outcome) {
    case Outcome::kLost:
      return Fate::kLost;
    case Outcome::kCancelled:
      return Fate::kCancelled;
    case Outcome::kSkipped:
      return Fate::kSkipped;
    default:
      return Fate::kFailed;
  }
}

constexpr std::size_t kMostDetails = 4;  // of one cause

struct Group {
  std::string cause;
  std::string_view shown;  // of it, what the heading does not say already
  std::vector<int> workers;
  std::vector<std::string> details;  // what differs from worker to worker; of the first ones
};

// By fate, then the biggest group first.
std::array<std::vector<Group>, kFates> GroupsOf(const ExecOutcome& outcome) {
  std::array<std::map<std::string, Group>, kFates> by_cause;
  for (std::size_t i = 0; i < outcome.results.size(); ++i) {
    const ssh::WorkerResult& result = outcome.results[i];
    if (result.ok()) continue;
    const std::string cause = ssh::CauseOf(result);
    Group& group = by_cause[static_cast<std::size_t>(FateOf(result))][cause];
    group.cause = cause;
    group.shown = result.cause.code == ssh::Cause::Code::kCancelled
                      ? ssh::FarewellWords(result.cause.farewell)
                      : "";
    group.workers.push_back(outcome.jobs[i].worker.index);
    std::string own = ssh::OwnWords(result.cause);
    if (!own.empty() && group.details.size() < kMostDetails)
      group.details.push_back(std::move(own));
  }
  std::array<std::vector<Group>, kFates> groups;
  for (std::size_t fate = 0; fate < kFates; ++fate) {
    for (auto& [cause, group] : by_cause[fate]) groups[fate].push_back(std::move(group));
    std::stable_sort(groups[fate].begin(), groups[fate].end(), [](const Group& a, const Group& b) {
      return a.workers.size() > b.workers.size();
    });
  }
  return groups;
}

std::size_t CountOf(const std::vector<Group>& groups) {
  std::size_t count = 0;
  for (const Group& group : groups) count += group.workers.size();
  return count;
}

std::vector<int> WorkersOf(const std::vector<Group>& groups) {
  std::vector<int> workers;
  for (const Group& group : groups) {
    workers.insert(workers.end(), group.workers.begin(), group.workers.end());
  }
  return workers;
}

// "14 workers: connection refused: 3-7,90".
void AppendGroups(const std::vector<Group>& groups, int per_slice, std::string* text) {
  for (const Group& group : groups) {
    *text += fmt::format("  {}: {}: {}\n", Plural(group.workers.size(), "worker"),
                         group.shown.empty() ? group.cause : group.shown,
                         FormatWorkers(group.workers, per_slice));
    for (const std::string& detail : group.details) *text += fmt::format("      {}\n", detail);
    if (!group.details.empty() && group.details.size() < group.workers.size()) {
      *text += fmt::format("      … and {} more\n", group.workers.size() - group.details.size());
    }
  }
}

}  // namespace

std::string ExecSummary(const ExecOutcome& outcome, const std::string& retry, bool shown) {
  const auto& results = outcome.results;
  // One worker that ran its command to its end has said it all.
  if (shown && results.size() == 1 && results[0].outcome == Outcome::kExited) return {};
  const int per_slice = outcome.jobs.empty() ? 0 : outcome.jobs.front().worker.per_slice;
  const auto groups = GroupsOf(outcome);
  const auto of = [&](Fate fate) -> const std::vector<Group>& {
    return groups[static_cast<std::size_t>(fate)];
  };
  std::string text;
  const auto head = [&](Fate fate, std::string_view what) {
    text +=
        fmt::format("{} of {} {}:\n", CountOf(of(fate)), Plural(results.size(), "worker"), what);
  };
  if (!of(Fate::kFailed).empty()) {
    head(Fate::kFailed, "failed");
    AppendGroups(of(Fate::kFailed), per_slice, &text);
  }
  if (!of(Fate::kLost).empty()) {
    head(Fate::kLost, "lost, where the command may go on or have ended");
    AppendGroups(of(Fate::kLost), per_slice, &text);
  }
  if (!of(Fate::kCancelled).empty()) {
    head(Fate::kCancelled, "cancelled");
    AppendGroups(of(Fate::kCancelled), per_slice, &text);
  }
  if (!of(Fate::kSkipped).empty()) {
    head(Fate::kSkipped, "never started");
    text += fmt::format("  {}\n", FormatWorkers(WorkersOf(of(Fate::kSkipped)), per_slice));
  }
  if (!text.empty() && !retry.empty()) {
    text += fmt::format("To run it again on just those: {}\n", retry);
  }
  return text;
}

Value ExecSummaryEvent(const ExecOutcome& outcome, int exit_code,
                       std::chrono::milliseconds elapsed) {
  const auto groups = GroupsOf(outcome);
  Value event = Value::EmptyMap();
  event.Set("format_version", "1.0");
  event.Set("type", "summary");
  event.Set("workers", static_cast<int>(outcome.results.size()));
  std::size_t not_ok = 0;
  Value causes = Value::EmptyList();
  for (std::size_t fate = 0; fate < kFates; ++fate) {
    event.Set(kFateNames[fate], static_cast<int>(CountOf(groups[fate])));
    not_ok += CountOf(groups[fate]);
    for (const Group& group : groups[fate]) {
      Value cause = Value::EmptyMap();
      cause.Set("fate", kFateNames[fate]);
      cause.Set("cause", group.cause);
      cause.Set("count", static_cast<int>(group.workers.size()));
      cause.Set("workers", FormatRanges(group.workers));
      causes.MutableList().push_back(std::move(cause));
    }
  }
  event.Set("ok", static_cast<int>(outcome.results.size() - not_ok));
  event.Set("causes", std::move(causes));
  event.Set("exit_code", exit_code);
  event.Set("elapsed_ms", static_cast<std::int64_t>(elapsed.count()));
  return event;
}

int ExecExitCode(const ExecOutcome& outcome) {
  if (outcome.interrupted) return kInterruptedExitCode;
  const auto& results = outcome.results;
  const bool agreed =
      !results.empty() && std::all_of(results.begin(), results.end(), [&](const auto& result) {
        return result.outcome == Outcome::kExited && result.exit_code == results[0].exit_code;
      });
  return agreed ? results[0].exit_code : 1;
}

}  // namespace podctl
