// Starts the jobs that an apply starts by itself, once their pod is there: those that are wanted on
// it (returning_jobs.h), and those with `autostart`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/executor.h"
#include "plans/fleet/run/supervise.h"
#include "plans/fleet/started_jobs.h"
#include "plans/fleet/worker_round.h"
#include "plans/session/known_pods.h"
#include "plans/session/plan.h"
#include "plans/session/returning_jobs.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "providers/ssh/transport.h"

namespace podctl {

class DueJobsListener : public ReturnListener {
 public:
  // How it ended for a job.
  virtual void OnRunsAlready(const JobSpec& job) = 0;
  virtual void OnStarted(const JobSpec& job) = 0;
  virtual void OnNotStarted(const JobSpec& job, const DetachReport& why) = 0;
};

// False when one of them could not be started, or nobody waits for that any more. The state's lock
// must be free. `owner`: who does it, "alice@laptop".
bool StartDueJobs(const ReturnDoors& doors, const PlanRun& run, const ExecuteResult& result,
                  const std::string& owner, DueJobsListener& listener);

// ---- What a plan means for the jobs of the spec.

// "train runs on pod.research, which is replaced", for each job whose pod is made, changed,
// replaced or deleted; and for each that is started then. Of those, in further lines of the same
// text, all that is run and copied: who agrees to the plan agrees to that. What a source of `sync`
// holds is read now and told by its digest; what keeps it from being copied goes to `problems`.
// `wanted`: those that may come back with their pod. `base`: the folder that the spec's paths were
// made to start from; may be empty.
std::vector<std::string> JobsAffected(const Spec& spec, const Plan& plan, const WantedJobs& wanted,
                                      FileSystem& files, const std::string& base,
                                      Diagnostics* problems);

// Whether two such answers for the same spec and plan tell only of other contents of what is
// copied; "": they do not, else the job's name.
std::string JobWithOtherFiles(const std::vector<std::string>& before,
                              const std::vector<std::string>& now);

// "train was started on pod.research at 2026-…, and no end of it is known here: the restart of
// tpu-runtime ends it", for each job that does not outlive the plan. `state`: before it; `started`:
// what was started on a pod, by its name (started_jobs.h).
std::vector<std::string> JobsEnded(
    const Plan& plan, const State& state,
    const std::function<std::vector<StartedJob>(const std::string& pod)>& started);

}  // namespace podctl
