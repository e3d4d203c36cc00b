// `podctl doctor POD`: is the pod fit for use, and where it is not, what is to be done.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

// Exit code 0 when all is well, 1 when something is not.
int RunDoctor(Wiring& wiring, const FleetOptions& options);

}  // namespace podctl
