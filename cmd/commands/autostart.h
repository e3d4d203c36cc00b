// Jobs that apply and watch start once they have made their pod, and those that come back with it.
#pragma once

#include <functional>
#include <string>

#include "plans/engine/executor.h"
#include "plans/fleet/started_jobs.h"
#include "plans/session/known_pods.h"
#include "plans/session/plan.h"
#include "plans/session/returning_jobs.h"

namespace podctl {

class Wiring;

using SayLine = std::function<void(const std::string& text)>;

// Those that are due after `run` (plans/session/due_jobs.h), whose lock is free; `say` tells what
// became of each. False: one of them was not started.
bool StartJobsOf(Wiring& wiring, PodDoors to_pods, const PlanRun& run, const ExecuteResult& result,
                 const StartedOnPods& started, const SayLine& say);

// A look at jobs that are wanted, by who looks again and again: `say_once` tells how things stand,
// and hears the same in every look.
WantedLook LookAtJobsOf(Wiring& wiring, const Spec& spec, const WantedJobs& wanted,
                        const StartedOnPods& started, const SayLine& say, const SayLine& say_once);

// The detached start of a job that comes back; what it was like is told as of any other.
DetachReport StartWritten(Wiring& wiring, const KnownPods& pods, const DetachDoors& doors,
                          const Spec& spec, const JobSpec& job, const RunRequest& request,
                          const DetachHooks& hooks);

// It is not to come back any more. False: the state could not be told, which was shown.
bool ForgetWanted(Wiring& wiring, const KnownPods& pods, const std::string& pod,
                  const std::string& job);

}  // namespace podctl
