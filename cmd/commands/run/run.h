// podctl run: a job of the spec, on its pod's workers or on this machine.
#pragma once

#include <set>
#include <string>

#include "cmd/commands/run/options.h"
#include "cmd/wiring.h"
#include "plans/spec/spec.h"

namespace podctl {

// Exits with 0 when the job ended well everywhere, with the command's own code where those that
// failed agree on one, else 1; 130 when interrupted.
int RunJob(Wiring& wiring, const RunOptions& options);

// Starts the job so that it outlives this process, as `podctl run JOB --detach` does.
int StartDetached(Wiring& wiring, const Spec& spec, const JobSpec& job, const RunOptions& options);

}  // namespace podctl
