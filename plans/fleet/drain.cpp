#include "plans/fleet/drain.h"

#include <algorithm>
#include <utility>

namespace podctl {
namespace {

using workers::DrainReport;
using workers::Holder;

bool IsVictim(const Holder& holder, bool with_jobs) {
  switch (holder.owner) {
    case Holder::Owner::kRuntime:
      return false;
    case Holder::Owner::kJob:
      return with_jobs;
    case Holder::Owner::kNobody:
    case Holder::Owner::kStartupScript:
      return true;
  }
  return false;
}

std::optional<Leftover> LeftoverOf(const WorkerAccess& worker, const workers::ProbeReport& probe,
                                   bool with_jobs) {
  Leftover left{worker, {}};
  bool held = false;
  for (const Holder& holder : probe.holders) {
    if (IsVictim(holder, with_jobs)) {
      left.victims.push_back(holder);
    } else {
      held = true;
    }
  }
  left.lock_file = !probe.lock_owner.empty() && !held;
  if (left.victims.empty() && !left.lock_file) return std::nullopt;
  return left;
}

// What was to be ended, and was not.
bool IsLeft(const Leftover& left, const DrainReport& report) {
  return report.lock == DrainReport::Lock::kRefused ||
         std::any_of(report.ended.begin(), report.ended.end(), [&](const auto& ended) {
           return ended.how == DrainReport::Ended::How::kRefused &&
                  std::any_of(left.victims.begin(), left.victims.end(),
                              [&](const Holder& each) { return each.pid == ended.pid; });
         });
}

}  // namespace

DrainSurvey SurveyLeftovers(WorkerRounds& rounds, const std::vector<WorkerAccess>& chosen,
                            bool with_jobs) {
  DrainSurvey survey{{}, rounds.Ask(chosen, workers::ProbeCommand({}))};
  for (WorkerAnswer& answer : survey.answers) {
    if (!answer.result.ok()) continue;
    const auto probe = workers::ParseProbe(answer.lines);
    if (!probe) {
      answer.Spoil("its answer to the probe cannot be read");
    } else if (auto left = LeftoverOf(answer.worker, *probe, with_jobs)) {
      survey.leftovers.push_back(*std::move(left));
    }
  }
  return survey;
}

DrainOutcome EndLeftovers(WorkerRounds& rounds, const std::vector<Leftover>& leftovers,
                          std::chrono::seconds grace) {
  std::vector<ssh::Job> jobs;
  for (const Leftover& left : leftovers) {
    jobs.push_back(
        {left.worker, workers::DrainCommand(left.victims, grace), nullptr, nullptr, kEndsByItself});
  }
  DrainOutcome outcome{rounds.Ask(jobs, grace + std::chrono::minutes(1)), {}, false};
  for (std::size_t i = 0; i < leftovers.size(); ++i) {
    WorkerAnswer& answer = outcome.answers[i];
    auto& report = outcome.reports.emplace_back();
    if (answer.result.ok()) {
      auto read = workers::ParseDrain(answer.lines);
      if (read) {
        report = *std::move(read);
      } else {
        answer.Spoil(read.error().message);
      }
    }
    outcome.something_left = outcome.something_left || !report || IsLeft(leftovers[i], *report);
  }
  return outcome;
}

}  // namespace podctl
