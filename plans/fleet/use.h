// Whether anybody uses a pod: somebody holds its TPU, or a job of podctl runs. What else its
// machines are busy with does not count. Changes nothing, shows nothing.
#pragma once

#include <string>
#include <vector>

#include "plans/fleet/worker_round.h"
#include "providers/worker.h"

namespace podctl {

struct PodUse {
  enum class Is {
    kIdle,
    kUsed,
    kUnknown  // one of its workers does not tell, and the others say nothing of a use
  };
  Is is = Is::kUnknown;
  std::string why = {};  // of the last two, a clause: "job train runs"
};

// Asks all of `chosen`, its workers, in two rounds, and one of them once more.
PodUse LookForUse(WorkerRounds& rounds, const std::vector<WorkerAccess>& chosen);

}  // namespace podctl
