// How the program `ssh` carries a tunnel: it listens on the local ports itself.
#pragma once

#include <memory>

#include "providers/os/environment.h"
#include "providers/ssh/tunnel/tunnel.h"

namespace podctl::ssh {

// All are lent and must outlive it.
std::unique_ptr<TunnelCarrier> MakeProgramTunnel(const Environment& environment, Clock& clock,
                                                 Random& random);

}  // namespace podctl::ssh
