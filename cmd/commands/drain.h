// `podctl drain POD`: ends what holds the TPU although nobody needs it any more.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunDrain(Wiring& wiring, const FleetOptions& options);

}  // namespace podctl
