// Which user of this machine holds the other end of a loopback connection? Asks the kernel, by
// sock_diag(7) or where that is missing (gVisor, some seccomp filters) by /proc/net/tcp. Thread
// safe.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace podctl::emulator {

// An end of a TCP connection: a numeric address, and its port.
struct End {
  std::string address;
  int port = 0;
};

// The owner of the socket whose own end is `peer` and whose other end is `own`, in this process's
// network. nullopt when there is none any more: of a socket that its owner has closed the kernel
// before Linux 6.16 says that it is root's, so that nothing is believed of it.
std::optional<uid_t> UserAt(const End& peer, const End& own);

// The second way alone, from the text of /proc/net/tcp or tcp6, for tests.
std::optional<uid_t> UserInTable(const std::string& table, const End& peer, const End& own);

}  // namespace podctl::emulator
