// Jobs that apply and watch start once they have made their pod, and those that come back with it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cmd/reporter.h"
#include "plans/engine/executor.h"
#include "plans/fleet/started_jobs.h"
#include "plans/session/plan.h"
#include "plans/session/returning_jobs.h"

namespace podctl {

using SayLine = std::function<void(const std::string& text)>;

// How it is told. All is lent.
struct TellJobs {
  const StartedOnPods& started;  // remembers what was started from here
  Reporter& reporter;
  Streams& streams;
  SayLine say;             // what becomes of each
  SayLine say_once = say;  // how things stand, the same in every look
  SayLine remark = say;    // what is done meanwhile, such as what was copied
};

// Those that are due after `run` (plans/session/due_jobs.h), whose lock is free. False: one of them
// was not started.
bool StartJobsOf(const ReturnDoors& doors, const PlanRun& run, const ExecuteResult& result,
                 const TellJobs& tell);

// A look at jobs that are wanted, by who looks again and again.
WantedLook LookAtJobsOf(const ReturnDoors& doors, const Spec& spec, const WantedJobs& wanted,
                        const TellJobs& tell);

// The detached start of a job that comes back; what it was like is told as of any other.
DetachReport StartWritten(const ReturnDoors& doors, const DetachDoors& detach, const Spec& spec,
                          const JobSpec& job, const RunRequest& request, const DetachHooks& hooks,
                          Reporter& reporter);

// It is not to come back any more, which is said. nullopt: the state could not be told, which was
// shown; false: it was not to.
std::optional<bool> ForgetWanted(const ReturnDoors& doors, const std::string& pod,
                                 const std::string& job, Reporter& reporter);

}  // namespace podctl
