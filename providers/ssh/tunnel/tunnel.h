// Local TCP ports that lead to a worker: each connection made to one becomes a direct-tcpip channel
// (RFC 4254 section 7.2) of one SSH connection.
//
// When that drops, what it carried ends, and a new one is made until stop, with backoff. With
// libssh2 the ports stay open meanwhile, and who comes then waits, but not for ever. A reader that
// is slow, on either side, slows the writer.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/clock.h"
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

class TunnelListeners;
struct TunnelClient;

// How a transport carries a tunnel: MakeSessionTunnel and MakeProgramTunnel.
class TunnelCarrier {
 public:
  virtual ~TunnelCarrier() = default;
  // Whether it listens on the local ports itself, as long as it is connected.
  virtual bool Listens() const = 0;
  // Blocks until there is a connection (nullopt), or says why there is none (RetryUntilIn). The
  // only call that may come on another thread than the one that called RunTunnel.
  virtual std::optional<Verdict> Connect(const WorkerAccess& worker, const Limits& limits,
                                         const std::function<void(const Cause&)>& on_trouble,
                                         const std::stop_token& stop) = 0;
  // What the last Connect trusted on first use.
  virtual std::optional<HostKeyText> learned_host_key() const = 0;
  // Carries until `stop` (empty), or returns why the connection dropped. `on_ready` is called when
  // the forwards can be used; an error: they never could. `clients` are served first; after it
  // these are those for whom nothing was carried yet, so that another connection may.
  virtual Result<std::string> Carry(const TunnelListeners& listeners,
                                    std::vector<TunnelClient>& clients, TunnelObserver& observer,
                                    const std::function<void()>& on_ready,
                                    const std::stop_token& stop) = 0;
};

// Runs until `stop`, which is success. Errors: kAlreadyExists (a local port is in use),
// kPermissionDenied (a local port below 1024), and those of Verdict::ToError for the first
// connection; later only kUnauthenticated and kFailedPrecondition (the host key changed).
Result<void> RunTunnel(const WorkerAccess& worker, TunnelCarrier& carrier,
                       const TunnelOptions& options, Clock& clock, TunnelObserver& observer,
                       const std::stop_token& stop);

}  // namespace podctl::ssh
