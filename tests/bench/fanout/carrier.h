// Carries packets between two TUN devices: the wire of a link.
#pragma once

#include "tests/bench/fanout/link.h"

namespace podctl::bench {

// Until the process is killed, which it is with its parent.
[[noreturn]] void Carry(int client_tun, int server_tun, const Link::Options& options);

}  // namespace podctl::bench
