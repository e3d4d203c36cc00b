// Jobs that apply starts by itself, once their pod is there.
#pragma once

#include "cmd/wiring.h"
#include "plans/engine/executor.h"
#include "plans/session/plan.h"

namespace podctl {

// False when one of them could not be started, which is then told. The state's lock must be free.
bool StartDueJobs(Wiring& wiring, const PlanRun& run, const ExecuteResult& result);

}  // namespace podctl
