// Local TCP ports that lead to a worker: each connection made to one becomes a direct-tcpip channel
// (RFC 4254 section 7.2) of one SSH session.
//
// When the session drops, the connections in it end, and a new session is dialled until stop, with
// backoff; the ports stay open meanwhile, and who comes then waits, but not for ever. A reader that
// is slow, on either side, slows the writer.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/clock.h"
#include "providers/ssh/identities.h"
#include "providers/ssh/transport.h"
#include "providers/worker.h"

namespace podctl::ssh {

struct Forward {
  int local_port = 0;  // on 127.0.0.1; 0: any free one
  int remote_port = 0;
  std::string remote_host = "127.0.0.1";  // as the worker sees it
};

struct TunnelOptions {
  std::vector<Forward> forwards;
  Limits limits;
  // How long a client that comes while there is no session waits for one before it is hung up on.
  std::chrono::milliseconds client_patience{30'000};
};

// Called on the thread that called RunTunnel, or on one that it waits for: one call at a time.
class TunnelObserver {
 public:
  virtual ~TunnelObserver() = default;
  // The forward can be used. Once for each, in their order, after the first session is ready.
  virtual void OnReady(int local_port, const Forward& forward) = 0;
  // Something that a user should know: why the first session takes its time, that the session
  // dropped and that there is a new one (once each), that the worker refused a connection.
  virtual void OnNote(const std::string& text) = 0;
  // Trusted on first use, to be remembered. Before OnReady.
  virtual void OnHostKey(const HostKeyText& key) = 0;
};

// Runs until `stop`, which is success. Errors: kAlreadyExists (a local port is in use; nothing was
// dialled yet), kPermissionDenied (a local port below 1024), and those of Dial for the first
// session; later only kUnauthenticated and kFailedPrecondition (the host key changed).
Result<void> RunTunnel(const WorkerAccess& worker,
                       const std::shared_ptr<const Identities>& identities,
                       const TunnelOptions& options, Clock& clock, Random& random,
                       TunnelObserver& observer, const std::stop_token& stop);

}  // namespace podctl::ssh
