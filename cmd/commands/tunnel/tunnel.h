// podctl tunnel: local ports that lead to workers, until Ctrl-C.
#pragma once

#include "cmd/wiring.h"
#include "plans/fleet/tunnel/wanted.h"

namespace podctl {

int RunTunnel(Wiring& wiring, const TunnelOptions& options);

}  // namespace podctl
