#include "cmd/views/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cmd/interrupt.h"
#include "cmd/views/exec_summary.h"
#include "plans/fleet/worker_round.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"

namespace podctl {
namespace {

using ssh::Outcome;

std::vector<int> WorkersThat(const AttemptResult& result, Outcome outcome) {
  std::vector<int> workers;
  for (std::size_t i = 0; i < result.outcome.results.size(); ++i) {
    if (result.outcome.results[i].outcome != outcome) continue;
    workers.push_back(result.outcome.jobs[i].worker.index);
  }
  return workers;
}

// Whom podctl ended, and whom it asked to: what the workers themselves saw of it.
std::string EndedLines(const AttemptResult& result, int per_slice) {
  std::vector<int> ended;
  std::vector<int> asked;
  for (std::size_t i = 0; i < result.outcome.results.size(); ++i) {
    const ssh::WorkerResult& each = result.outcome.results[i];
    if (each.outcome != Outcome::kCancelled) continue;
    (each.ended ? ended : asked).push_back(result.outcome.jobs[i].worker.index);
  }
  const std::string why = result.first && !result.outcome.interrupted ? " because of it" : "";
  const auto were = [](const std::vector<int>& workers) {
    return workers.size() == 1 ? "1 worker was" : fmt::format("{} workers were", workers.size());
  };
  std::string text;
  if (!ended.empty()) {
    text += fmt::format("{} ended{}: {}\n", were(ended), why, FormatWorkers(ended, per_slice));
  }
  if (!asked.empty()) {
    text += fmt::format("{} asked to end{}; still at it: {}\n", were(asked), why,
                        FormatWorkers(asked, per_slice));
  }
  return text;
}

// Those that failed by themselves, but for the first, by cause.
WorkerGroups LaterFailures(const AttemptResult& result) {
  WorkerGroups groups;
  for (std::size_t i = 0; i < result.outcome.results.size(); ++i) {
    const ssh::WorkerResult& each = result.outcome.results[i];
    if (each.ok() || IsConsequence(each) || result.first == i) continue;
    groups.Add(CauseOfEnd(each), result.outcome.jobs[i].worker.index);
  }
  return groups;
}

std::string FirstLine(const AttemptResult& result) {
  const ssh::Job& job = result.outcome.jobs[*result.first];
  const std::string cause = CauseOfEnd(result.outcome.results[*result.first]);
  if (!result.started) {
    return fmt::format("{} could not be made ready: {}\n", job.worker.Name(), cause);
  }
  const bool alone = result.outcome.jobs.size() == 1;
  return fmt::format("{} failed{}, {} after the start: {}\n", job.worker.Name(),
                     alone ? "" : " first", FormatDuration(result.first_after), cause);
}

}  // namespace

std::string FailureText(const std::string& worker, const std::string& cause,
                        std::optional<std::chrono::seconds> aftermath) {
  if (!aftermath) return fmt::format("{} failed: {}. The others go on.", worker, cause);
  return fmt::format("{} failed: {}. Who of the others has not ended {} later is ended then.",
                     worker, cause, FormatDuration(*aftermath));
}

std::string RunSummary(const AttemptResult& result) {
  const auto& jobs = result.outcome.jobs;
  const int per_slice = jobs.empty() ? 0 : jobs.front().worker.per_slice;
  std::string text;
  if (!result.ended_by.empty()) text += fmt::format("The job was ended by {}.\n", result.ended_by);
  if (result.told) text += fmt::format("The job was ended, since {}.\n", result.told->because);
  if (!result.stalled.empty()) {
    text += fmt::format("The job was ended, since {}.\n", result.stalled);
  }
  if (result.first) text += FirstLine(result);
  const WorkerGroups later = LaterFailures(result);
  for (const auto& group : later.groups()) {
    text += fmt::format("{} {}: {}: {}\n", Plural(group.workers.size(), "worker"),
                        result.first ? "failed too" : "ended", group.what,
                        FormatWorkers(group.workers, per_slice));
  }
  text += EndedLines(result, per_slice);
  const std::vector<int> unstarted = WorkersThat(result, Outcome::kSkipped);
  if (!unstarted.empty()) {
    text += fmt::format("Nothing was started on {}: {}\n",
                        unstarted.size() == 1 ? "1 worker that was well"
                                              : fmt::format("{} others", unstarted.size()),
                        FormatWorkers(unstarted, per_slice));
  }
  return text;
}

Value RunSummaryEvent(const AttemptResult& result, int exit_code, int restarts) {
  Value event = ExecSummaryEvent(result.outcome, exit_code, result.elapsed);
  event.Set("started", result.started);
  event.Set("restarts", restarts);
  if (!result.ended_by.empty()) event.Set("ended_by", result.ended_by);
  if (result.first) {
    const ssh::Job& job = result.outcome.jobs[*result.first];
    Value first = Value::EmptyMap();
    first.Set("worker", job.worker.index);
    first.Set("cause", CauseOfEnd(result.outcome.results[*result.first]));
    first.Set("after_ms", static_cast<std::int64_t>(result.first_after.count()));
    event.Set("first", std::move(first));
  }
  return event;
}

int RunExitCode(const AttemptResult& result) {
  if (result.outcome.interrupted) return kInterruptedExitCode;
  std::set<int> codes;
  bool all_ok = true;
  for (const ssh::WorkerResult& each : result.outcome.results) {
    all_ok = all_ok && each.ok();
    if (each.ok() || IsConsequence(each)) continue;
    codes.insert(each.outcome == Outcome::kExited ? each.exit_code : -1);
  }
  if (all_ok) return 0;
  const bool agreed = codes.size() == 1 && *codes.begin() > 0;
  return agreed && result.started ? *codes.begin() : 1;
}

}  // namespace podctl
