// How libssh2 carries a tunnel: each local connection is a channel of one session.
#pragma once

#include <memory>

#include "providers/ssh/keys/identities.h"
#include "providers/ssh/tunnel/tunnel.h"

namespace podctl::ssh {

// The clock and the source of chance are lent, and must outlive it.
std::unique_ptr<TunnelCarrier> MakeSessionTunnel(std::shared_ptr<const Identities> identities,
                                                 Clock& clock, Random& random);

}  // namespace podctl::ssh
