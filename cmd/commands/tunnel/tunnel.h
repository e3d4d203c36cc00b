// podctl tunnel: local ports that lead to workers, until Ctrl-C.
#pragma once

#include "cmd/commands/tunnel/wanted.h"
#include "cmd/wiring.h"

namespace podctl {

int RunTunnel(Wiring& wiring, const TunnelOptions& options);

}  // namespace podctl
