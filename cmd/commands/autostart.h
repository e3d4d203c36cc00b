// The jobs with `autostart`, as apply and watch start them once they have made their pod.
#pragma once

#include <functional>
#include <string>

#include "cmd/output_filter.h"
#include "cmd/reporter.h"
#include "plans/engine/executor.h"
#include "plans/fleet/started_jobs.h"
#include "plans/fleet/worker_round.h"
#include "plans/session/known_pods.h"
#include "plans/session/plan.h"
#include "providers/ssh/transport.h"

namespace podctl {

using SayLine = std::function<void(const std::string& text)>;

// All is lent but the doors to pods.
struct AutostartDoors {
  PodDoors to_pods;
  ssh::Transport& ssh;
  FileSystem& files;
  Random& random;
  StopTokens stops;
  Reporter& reporter;
  Streams& streams;
  Clock& clock;
  const StartedOnPods& started;
};

// Those that are due after `run` (plans/session/due_jobs.h), whose lock is free; `say` tells what
// became of each. False: one of them was not started.
bool StartJobsOf(const AutostartDoors& doors, const PlanRun& run, const ExecuteResult& result,
                 const SayLine& say);

}  // namespace podctl
