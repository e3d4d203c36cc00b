#include "cmd/views/exec_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cmd/interrupt.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"

namespace podctl {
namespace {

using ssh::Outcome;

constexpr std::array<std::string_view, kFates> kFateNames = {"failed", "lost", "cancelled",
                                                             "skipped"};
constexpr std::array<std::string_view, kFates> kFateWords = {
    "failed", "lost, where the command may go on or have ended", "cancelled", "never started"};

std::size_t CountOf(const std::vector<CauseGroup>& groups) {
  std::size_t count = 0;
  for (const CauseGroup& group : groups) count += group.workers.size();
  return count;
}

std::vector<int> WorkersOf(const std::vector<CauseGroup>& groups) {
  std::vector<int> workers;
  for (const CauseGroup& group : groups) {
    workers.insert(workers.end(), group.workers.begin(), group.workers.end());
  }
  return workers;
}

// "14 workers: connection refused: 3-7,90".
void AppendGroups(const std::vector<CauseGroup>& groups, int per_slice, std::string* text) {
  for (const CauseGroup& group : groups) {
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
  const auto groups = GroupsByFate(outcome);
  std::string text;
  for (std::size_t fate = 0; fate < kFates; ++fate) {
    const auto& of = groups[fate];
    if (of.empty()) continue;
    text += fmt::format("{} of {} {}:\n", CountOf(of), Plural(results.size(), "worker"),
                        kFateWords[fate]);
    if (static_cast<Fate>(fate) == Fate::kSkipped) {
      text += fmt::format("  {}\n", FormatWorkers(WorkersOf(of), per_slice));
    } else {
      AppendGroups(of, per_slice, &text);
    }
  }
  if (!text.empty() && !retry.empty()) {
    text += fmt::format("To run it again on just those: {}\n", retry);
  }
  return text;
}

Value ExecSummaryEvent(const ExecOutcome& outcome, int exit_code,
                       std::chrono::milliseconds elapsed) {
  const auto groups = GroupsByFate(outcome);
  Value event = Value::EmptyMap();
  event.Set("format_version", "1.0");
  event.Set("type", "summary");
  event.Set("workers", static_cast<int>(outcome.results.size()));
  std::size_t not_ok = 0;
  Value causes = Value::EmptyList();
  for (std::size_t fate = 0; fate < kFates; ++fate) {
    event.Set(kFateNames[fate], static_cast<int>(CountOf(groups[fate])));
    not_ok += CountOf(groups[fate]);
    for (const CauseGroup& group : groups[fate]) {
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
