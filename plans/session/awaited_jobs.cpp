#include "plans/session/awaited_jobs.h"

#include <algorithm>
#include <optional>

#include "plans/session/returning_jobs.h"

namespace podctl {
namespace {

using Waits = AwaitedJob::Waits;

// Whether it is on some worker, at work or at its end, so that the workers tell of it.
bool IsTold(const JobsReport& report, const std::string& name, const WantedJob& wanted) {
  using Is = workers::JobStatus::State;
  return std::any_of(report.found.begin(), report.found.end(), [&](const WorkerJobs& worker) {
    return std::any_of(worker.jobs.begin(), worker.jobs.end(), [&](const auto& job) {
      return job.name == name && job.state != Is::kDied &&
             (job.state == Is::kRunning || IsRunWithEnd(job.run, wanted.start));
    });
  });
}

// nullopt: nothing is waited for.
std::optional<Waits> JudgeAwaited(const std::string& name, const WantedJob& wanted,
                                  const JobSpec* job, const PodRecord& record,
                                  const JobsReport* report, bool whole, Clock::SystemTime now) {
  if (report == nullptr) return Waits::kForPod;
  if (IsOnAnother(wanted, record)) return Waits::kForLook;
  if (IsTold(*report, name, wanted)) return std::nullopt;
  if (wanted.begins && IsRecent(wanted, now)) return Waits::kForStart;
  if (!AllAnswered(report->answers)) return Waits::kUnheard;
  if (!whole) return std::nullopt;
  // The next look takes it off the state.
  if (job != nullptr && !wanted.begins && !ReturnsOnItsPod(*job)) return std::nullopt;
  return Waits::kForLook;
}

}  // namespace

std::vector<AwaitedJob> AwaitedJobs(const std::string& pod, const PodRecord& record,
                                    const Spec& spec, const JobsReport* report, bool whole,
                                    Clock::SystemTime now) {
  std::vector<AwaitedJob> awaited;
  for (const auto& [name, wanted] : record.jobs) {
    const JobSpec* job = FindReturningJob(spec, pod, name);
    const auto waits = JudgeAwaited(name, wanted, job, record, report, whole, now);
    if (!waits) continue;
    AwaitedJob each{name, *waits, wanted.attempt, 0, wanted.since};
    // On another node it counts as begun, whoever saw it.
    const bool anew = *waits == Waits::kForPod || IsOnAnother(wanted, record);
    if (anew || (*waits == Waits::kForLook && !wanted.begins)) ++each.attempt;
    if (job != nullptr) each.attempts = job->restart.attempts + 1;
    awaited.push_back(std::move(each));
  }
  return awaited;
}

}  // namespace podctl
