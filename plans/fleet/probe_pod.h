// `podctl doctor --probe`: has all workers of a pod look at each other at the same moment, and
// where they have JAX and their chips are free, compute together. Disturbs nothing that runs, and
// leaves nothing on the workers. Shows nothing.
#pragma once

#include <string>
#include <vector>

#include "plans/fleet/doctor.h"
#include "plans/fleet/worker_round.h"
#include "providers/base/value.h"
#include "providers/os/clock.h"
#include "providers/workers/pod_probe.h"

namespace podctl {

struct PodProbeRequest {
  std::vector<workers::EgressTarget> egress = workers::UsualEgress();
  bool egress_due = false;  // somebody has said that they are to be reached
  std::string python = "python3";
  bool whole = true;  // all workers of the pod were chosen
};

// `report`: of LookAtWorkers over `chosen`. Workers that were silent then take no part. What is
// found is added to it; nothing where that was interrupted.
void ProbePod(WorkerRounds& rounds, Clock& clock, Random& random, const Value& node,
              const std::vector<WorkerAccess>& chosen, const PodProbeRequest& request,
              DoctorReport* report);

}  // namespace podctl
