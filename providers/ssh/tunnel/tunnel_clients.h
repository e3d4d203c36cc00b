// The local side of a tunnel: the ports that are listened on, and the clients that came to them
// while there was no session to carry them. One thread.
#pragma once

#include <chrono>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/clock.h"
#include "providers/os/descriptor.h"
#include "providers/ssh/tunnel/tunnel.h"

namespace podctl::ssh {

// Connections of one tunnel at a time. Clients beyond this many wait to be accepted, as many again
// as the kernel queues for a port.
inline constexpr std::size_t kMaxTunnelClients = 512;

// A client that was accepted. -1 on `fd`: there was none.
struct TunnelClient {
  int fd = -1;  // not owned
  Forward forward;
};

// Local ports that are listened on, closed when it goes.
class TunnelListeners {
 public:
  struct Listener {
    int fd = -1;      // -1: closed
    Forward forward;  // with the local port that it got
  };

  TunnelListeners() = default;
  ~TunnelListeners();
  TunnelListeners(const TunnelListeners&) = delete;
  TunnelListeners& operator=(const TunnelListeners&) = delete;

  // kAlreadyExists: the port is in use; kPermissionDenied, kUnavailable.
  Result<void> Open(const Forward& forward);
  const std::vector<Listener>& all() const { return all_; }
  void Close();  // listens no more; what is known of the ports stays

  // Takes the next client of a listener. `fd` is -1 when there is none; `out_of_files` is then
  // set when that is because this machine has no descriptor left, and the client still waits.
  static TunnelClient Accept(const Listener& listener, bool* out_of_files);

 private:
  std::vector<Listener> all_;
};

// Where clients wait while there is no session.
class PendingClients {
 public:
  // The listeners and the clock are lent. A client that has waited for `patience` is hung up on.
  PendingClients(const TunnelListeners& listeners, std::chrono::milliseconds patience, Clock& clock)
      : listeners_(listeners), patience_(patience), clock_(clock) {}
  ~PendingClients();
  PendingClients(const PendingClients&) = delete;
  PendingClients& operator=(const PendingClients&) = delete;

  // Takes clients in until the bell is rung.
  void WaitFor(const Wakeup& bell);
  // Takes clients in that came to somebody else.
  void Add(const std::vector<TunnelClient>& clients);
  // Who waits, in the order of their coming. Their descriptors are the caller's from now on.
  std::vector<TunnelClient> TakeAll();

 private:
  struct Waiting {
    TunnelClient client;
    Clock::SteadyTime until;
  };
  void HangUp(std::size_t index);
  void HangUpOnImpatient();

  const TunnelListeners& listeners_;
  const std::chrono::milliseconds patience_;
  Clock& clock_;
  std::vector<Waiting> waiting_;
  bool out_of_files_ = false;
};

}  // namespace podctl::ssh
