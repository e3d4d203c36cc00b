// Where a worker listens: its address as the kernel takes it.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

#include "providers/base/error.h"

namespace podctl::ssh {

struct Endpoint {
  sockaddr_storage address{};
  socklen_t size = 0;  // 0: none
};

// An IP address as it is written; nullopt: `host` is a name. Never blocks.
std::optional<Endpoint> ParseAddress(const std::string& host, int port);

// An IP address is taken as it is; a name is asked for, which may block for as long as the system's
// resolver does. (The API gives addresses, so names are rare.) kUnavailable: no such name.
Result<Endpoint> Resolve(const std::string& host, int port);

}  // namespace podctl::ssh
