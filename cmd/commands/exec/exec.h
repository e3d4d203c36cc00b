// podctl exec: a command on some or all workers of a pod.
#pragma once

#include "plans/fleet/exec/request.h"

namespace podctl {

class Wiring;

// Exits with the commands' own code when all workers agree, else 1; 130 when interrupted.
int RunExec(Wiring& wiring, const PodOptions& options, const ExecOptions& exec);

}  // namespace podctl
