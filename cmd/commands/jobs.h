// Commands that outlive the connection: `podctl exec --detach NAME`, `podctl jobs`, `podctl kill`.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

// Starts the command of `exec --detach` on all chosen workers, or on none when one of them cannot
// be asked. Where a start was cut short, the same command under the same name starts what is
// missing.
int RunDetach(Wiring& wiring, const PodOptions& options, const ExecOptions& exec);
int RunJobs(Wiring& wiring, const FleetOptions& options);
int RunKill(Wiring& wiring, const FleetOptions& options);

}  // namespace podctl
