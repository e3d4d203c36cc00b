#include "plans/fleet/exec/outcome.h"

#include <algorithm>
#include <map>
#include <utility>

namespace podctl {
namespace {

using ssh::Outcome;

constexpr std::size_t kMostDetails = 4;  // of one cause

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

}  // namespace

std::array<std::vector<CauseGroup>, kFates> GroupsByFate(const ExecOutcome& outcome) {
  std::array<std::map<std::string, CauseGroup>, kFates> by_cause;
  for (std::size_t i = 0; i < outcome.results.size(); ++i) {
    const ssh::WorkerResult& result = outcome.results[i];
    if (result.ok()) continue;
    const std::string cause = ssh::CauseOf(result);
    CauseGroup& group = by_cause[static_cast<std::size_t>(FateOf(result))][cause];
    group.cause = cause;
    group.shown = result.cause.code == ssh::Cause::Code::kCancelled
                      ? ssh::FarewellWords(result.cause.farewell)
                      : "";
    group.workers.push_back(outcome.jobs[i].worker.index);
    std::string own = ssh::OwnWords(result.cause);
    if (!own.empty() && group.details.size() < kMostDetails)
      group.details.push_back(std::move(own));
  }
  std::array<std::vector<CauseGroup>, kFates> groups;
  for (std::size_t fate = 0; fate < kFates; ++fate) {
    for (auto& [cause, group] : by_cause[fate]) groups[fate].push_back(std::move(group));
    std::stable_sort(groups[fate].begin(), groups[fate].end(),
                     [](const CauseGroup& a, const CauseGroup& b) {
                       return a.workers.size() > b.workers.size();
                     });
  }
  return groups;
}

std::map<int, HostKeyText> LearnedKeys(const ExecOutcome& outcome) {
  std::map<int, HostKeyText> learned;
  for (std::size_t i = 0; i < outcome.results.size(); ++i) {
    const auto& key = outcome.results[i].learned_host_key;
    if (key) learned[outcome.jobs[i].worker.index] = *key;
  }
  return learned;
}

}  // namespace podctl
