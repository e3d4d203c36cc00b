// `podctl logs POD NAME`: what a job of `exec --detach` has written, and writes.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

// With `follow` until the job has ended on all chosen workers, with its exit code: theirs when they
// agree, else 1. A worker whose connection breaks is taken up again where it stopped.
int RunLogs(Wiring& wiring, const FleetOptions& options);

}  // namespace podctl
