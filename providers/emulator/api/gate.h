// Who may ask the emulator at all: what a request shows before anybody looks at what it wants.
//
// The emulator asks nobody for credentials and starts programs, so a page in a browser (also one
// whose name was made to resolve to loopback, "DNS rebinding") and another user of the machine must
// get nothing. What the rules rest on:
//  - A browser names in Host whom it believes to talk to (RFC 9110, 7.2); a page cannot choose it.
//  - It sends Origin with every request that is neither GET nor HEAD, and "null" where the origin
//    is secret (Fetch, 3.2 "Origin header"); Sec-Fetch-Site and -Dest with all (Fetch Metadata, 2).
//  - Without asking first (CORS-preflight) it sends no body of type application/json (Fetch, 2.2.2
//    "CORS-safelisted request-header").
// Knows no sockets but the ends of a connection. Thread safe.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/emulator/service/api_error.h"

namespace podctl::emulator {

// The head of a request, as it came. Of each header all values, since two are one too many.
struct RequestHead {
  std::string method;
  std::string target;
  std::vector<std::string> hosts;
  std::vector<std::string> origins;
  std::vector<std::string> sites;         // Sec-Fetch-Site
  std::vector<std::string> destinations;  // Sec-Fetch-Dest
  std::vector<std::string> types;         // Content-Type
  bool has_body = false;
};

struct Gate {
  int port = 0;                    // that it listens on
  std::vector<std::string> hosts;  // names that Host may hold beside those of loopback
  std::vector<uid_t> users;        // whose connections are taken; empty: everybody's
};

// May it be done? What it is refused for is said without a secret, and may be shown to anybody.
Refusal CheckRequestHead(const Gate& gate, const RequestHead& head);

// Whether a request's target takes what is stored in Cloud Storage, of whatever type it is.
bool IsUpload(std::string_view target);

// 127.0.0.0/8, ::1 (without brackets) or localhost.
bool IsLoopback(std::string_view host);

// ---- Which user of this machine holds the other end of a loopback connection? Asks the kernel, by
// sock_diag(7) or where that is missing (gVisor, some seccomp filters) by /proc/net/tcp.

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
