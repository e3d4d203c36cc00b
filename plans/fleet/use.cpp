#include "plans/fleet/use.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plans/fleet/jobs.h"
#include "providers/workers/duty.h"
#include "providers/workers/jobs.h"
#include "providers/workers/probe.h"

namespace podctl {
namespace {

std::string JobThatRuns(const JobsReport& report) {
  for (const WorkerJobs& worker : report.found) {
    for (const workers::JobStatus& job : worker.jobs) {
      if (RunsSomewhere(report, job.name)) return job.name;
    }
  }
  return {};
}

// Who holds a TPU need not compute on it: a notebook's kernel, say. It counts as use all the same.
std::string DutyWords(WorkerRounds& rounds, const WorkerAccess& worker) {
  const std::vector<WorkerAnswer> answers =
      rounds.Ask(std::vector<WorkerAccess>{worker}, workers::DutyCommand());
  const auto percent = answers.front().result.ok() ? workers::ParseDuty(answers.front().lines)
                                                   : std::optional<double>();
  if (!percent) return {};
  constexpr double kHalf = 50;
  // So roughly that the same is not told again in each look.
  return fmt::format(", and busy for {} of the time, as libtpu says (unverified)",
                     *percent < 1       ? "less than 1 %"
                     : *percent < kHalf ? "less than half"
                                        : "half or more");
}

// The runtime holds the TPU whether somebody computes by it or not.
bool Uses(const workers::Holder& holder) {
  return holder.owner != workers::Holder::Owner::kRuntime;
}

}  // namespace

PodUse LookForUse(WorkerRounds& rounds, const std::vector<WorkerAccess>& chosen) {
  PodUse use;
  const JobsReport jobs = ListJobs(rounds, chosen, "");
  if (const std::string job = JobThatRuns(jobs); !job.empty()) {
    return {PodUse::Is::kUsed, fmt::format("job {} runs", job)};
  }
  std::string silent;
  const auto note = [&](const WorkerAccess& worker, const std::string& what) {
    if (silent.empty()) silent = fmt::format("worker {}: {}", worker.index, what);
  };
  for (const WorkerAnswer& answer : jobs.answers) {
    if (!answer.result.ok()) note(answer.worker, CauseOfSilence(answer));
  }
  for (const WorkerAnswer& answer : rounds.Ask(chosen, workers::ProbeCommand({}))) {
    if (!answer.result.ok()) {
      note(answer.worker, CauseOfSilence(answer));
      continue;
    }
    const auto probe = workers::ParseProbe(answer.lines);
    if (!probe) {
      note(answer.worker, probe.error().message);
      continue;
    }
    const auto user = std::find_if(probe->holders.begin(), probe->holders.end(), Uses);
    if (user != probe->holders.end()) {
      return {PodUse::Is::kUsed,
              fmt::format("the TPU of worker {} is held by pid {} of {}{}", answer.worker.index,
                          user->pid, user->user, DutyWords(rounds, answer.worker))};
    }
    if (!probe->saw_all)
      note(answer.worker, "processes of others cannot be looked at without sudo");
  }
  if (!silent.empty()) return {PodUse::Is::kUnknown, std::move(silent)};
  return {PodUse::Is::kIdle, {}};
}

}  // namespace podctl
