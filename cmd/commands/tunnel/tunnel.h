// podctl tunnel: local ports that lead to workers, until Ctrl-C.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunTunnel(Wiring& wiring, const PodOptions& options);

}  // namespace podctl
