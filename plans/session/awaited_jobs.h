// Jobs that come back with their pod and do not run now: what there is to tell of them beside what
// the pod's workers say. Pure.
#pragma once

#include <string>
#include <vector>

#include "plans/fleet/jobs.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/spec.h"
#include "providers/os/clock.h"

namespace podctl {

struct AwaitedJob {
  enum class Waits {
    kForPod,    // which has no workers
    kForLook,   // the pod is there and has lost it: a look of `podctl watch` starts it
    kForStart,  // somebody has written that down, at `since`, and is at it
    kUnheard,   // workers that may have it do not answer
  };
  std::string job;
  Waits waits = Waits::kForPod;
  int attempt = 1;    // the one that comes; of kUnheard the last that is known of
  int attempts = 0;   // that there are at most; 0: the spec at hand does not say
  std::string since;  // when the last was written down, RFC 3339

  bool IsUsedUp() const { return attempts > 0 && attempt > attempts; }
};

// `record`: of the pod, as the state has it. `report`: what its workers say of all of their jobs;
// nullptr: it has none that could be asked. `whole`: all of its workers are in it. `spec` may know
// nothing of the job, or of the pod.
std::vector<AwaitedJob> AwaitedJobs(const std::string& pod, const PodRecord& record,
                                    const Spec& spec, const JobsReport* report, bool whole,
                                    Clock::SystemTime now);

}  // namespace podctl
