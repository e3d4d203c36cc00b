// Local TCP ports that lead to a worker, by the program `ssh`: what tunnel.h does by itself. ssh
// listens on the ports, so while a dropped connection is made anew, clients are refused.
#pragma once

#include <stop_token>
#include <vector>

#include "providers/os/environment.h"
#include "providers/ssh/tunnel.h"

namespace podctl::ssh {

// As RunTunnel, whose errors it shares; `environment` is lent.
Result<void> RunTunnelByProgram(const WorkerAccess& worker, const TunnelOptions& options,
                                const Environment& environment, Clock& clock, Random& random,
                                TunnelObserver& observer, const std::stop_token& stop);

}  // namespace podctl::ssh
