// Local ports that lead to workers of a pod, side by side until they are closed; and, where that is
// wanted, who answers there and how to get in. Shows nothing.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/fleet/pod_target.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/error.h"
#include "providers/http/transport.h"
#include "providers/os/clock.h"
#include "providers/os/environment.h"
#include "providers/os/process.h"
#include "providers/ssh/transport.h"
#include "providers/ssh/tunnel/tunnel.h"
#include "providers/worker.h"

namespace podctl {

// ---- What `podctl tunnel` is to forward: the ports on the command line, or the pod's `tunnels`.

struct TunnelOptions {
  std::string pod;
  std::string workers;             // --worker
  std::vector<std::string> ports;  // [LOCAL:]REMOTE, or a name of the spec's
  std::string open;                // --open: "browser" or "url"; empty: no
};

struct WantedTunnel {
  // What is thought to answer there, when it is to be opened.
  enum class Open { kNo, kAnything, kJupyter, kHttp };

  WorkerAccess worker;
  ssh::Forward forward;
  Open open = Open::kNo;
};

// Whether the spec has to be read for it.
bool NeedsSpec(const TunnelOptions& options);

// In the order of the words, or of the spec; never empty. `tunnels` are the pod's in the spec.
// kInvalidArgument for a word that is neither port nor name, for a worker that is not there, and
// where nothing is named and the spec has nothing.
Result<std::vector<WantedTunnel>> ChooseTunnels(const TunnelOptions& options,
                                                const PodTarget& target,
                                                const std::vector<TunnelSpec>& tunnels);

// ---- `podctl tunnel --open`: waits until what a forwarded port leads to answers, and finds out
// how to get in. Prints nothing.
//
// What is returned holds a token, which is to be shown to who asked for it and to nobody else.

struct Door {
  int local_port = 0;
  int remote_port = 0;
  WantedTunnel::Open open = WantedTunnel::Open::kAnything;
  WorkerAccess worker;
};

struct OpenedDoor {
  std::string url;                   // for a browser of this machine
  std::string colab_url;             // for Colab's local runtime; empty: Colab would not be let in
  std::vector<std::string> remarks;  // what else is to be known, a sentence each
};

// Everything is lent.
struct DoorWorld {
  http::Transport& http;
  ssh::Transport& ssh;
  Clock& clock;
  std::function<void(const std::string&)> on_wait;  // it takes its time; called once at most
};

// Blocks for as long as nothing answers, but at most for ten minutes: kDeadlineExceeded.
// kCancelled on `stop`. That a token is not found or not accepted is a remark.
Result<OpenedDoor> OpenDoor(const Door& door, const DoorWorld& world, const std::stop_token& stop);

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

// ---- The user's browser, where there is one to be seen.

// The command line that shows `url`: $BROWSER's first entry, with %s for the URL or the URL behind
// it, else what the desktop has for that. nullopt: there is no display, and no $BROWSER.
std::optional<std::string> BrowserCommand(const Environment& environment, const std::string& url);

// Starts it in the background, where it outlives podctl. kNotFound, with a message for the user,
// when there is no such program. The URL stands in its process list for a moment.
Result<void> StartBrowser(ProcessRunner& processes, const std::string& command);

}  // namespace podctl
