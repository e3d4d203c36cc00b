// What the readers of jobs and those who start them must both know of launchers. What each launcher
// sets on a worker is plans/jobs/.
#pragma once

#include <string_view>

#include "plans/spec/job_spec.h"

namespace podctl {

// The program runs on worker 0 alone; the other workers serve it through tpu-runtime.
bool RunsOnWorkerZero(Launcher launcher);

// One of those that podctl sets for each process, PODCTL_WORKER and the like.
bool IsPlaceVariable(std::string_view name);

// A variable that xla_dist sets by itself on each worker, and has always refused to take.
bool IsXlaDistVariable(std::string_view name);

}  // namespace podctl
