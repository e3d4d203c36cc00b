// Runs a job to its end, and starts it again where the spec says so and why.
#pragma once

#include <vector>

#include "cmd/commands/pod_target.h"
#include "cmd/commands/run/options.h"
#include "cmd/wiring.h"
#include "plans/jobs/launch.h"
#include "plans/spec/spec.h"

namespace podctl {

// A pod as a job needs it: how its workers are reached, and what each of them is to run.
struct ReadyLaunch {
  PodTarget target;
  PodRecord record;
  Launch launch;
  std::vector<WorkerAccess> workers;  // of the launch, in its order
};
// `attempt` and `run` as LaunchWishes has them.
Result<ReadyLaunch> PrepareLaunch(Wiring& wiring, const Spec& spec, const JobSpec& job,
                                  const RunOptions& options, int attempt, const std::string& run);

int SuperviseJob(Wiring& wiring, const Spec& spec, const JobSpec& job, const RunOptions& options);

}  // namespace podctl
