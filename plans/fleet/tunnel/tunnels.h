// Local ports that lead to workers of a pod, side by side until they are closed; and, where that is
// wanted, who answers there and how to get in. Shows nothing.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/fleet/tunnel/door.h"
#include "plans/fleet/tunnel/wanted.h"
#include "providers/base/error.h"
#include "providers/http/transport.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"
#include "providers/ssh/tunnel.h"
#include "providers/worker.h"

namespace podctl {

// Called on several threads at once.
class TunnelsWatcher {
 public:
  virtual ~TunnelsWatcher() = default;
  virtual void OnReady(const WorkerAccess& worker, int local_port, int remote_port) = 0;
  virtual void OnOpened(const WorkerAccess& worker, const OpenedDoor& opened) = 0;
  virtual void OnNote(const std::string& text) = 0;  // perhaps again and again
  virtual void OnHostKey(const WorkerAccess& worker, const HostKeyText& key) = 0;
};

// Holds the tunnels to one worker open until it is told to stop, or until that fails.
using HoldTunnels =
    std::function<Result<void>(const WorkerAccess& worker, const ssh::TunnelOptions& options,
                               ssh::TunnelObserver& observer, const std::stop_token& stop)>;

// What tunnels go through. Everything is lent.
struct TunnelDoors {
  // How a worker is reached; an error where there is no key to try.
  std::function<Result<HoldTunnels>(const WorkerAccess& worker)> way_to;
  ssh::Transport& ssh;
  http::Transport& http;
  Clock& clock;
};

// Blocks until `stop`, or until one fails, which ends all of them: the first failure, if any.
std::optional<Error> RunTunnels(const TunnelDoors& doors, const std::vector<WantedTunnel>& wanted,
                                TunnelsWatcher& watcher, const std::stop_token& stop);

}  // namespace podctl
