// What `podctl tunnel` is to forward: the ports on the command line, or the pod's `tunnels`.
#pragma once

#include <string>
#include <vector>

#include "plans/fleet/pod_target.h"
#include "plans/kinds/pod/spec.h"
#include "providers/ssh/tunnel.h"
#include "providers/worker.h"

namespace podctl {

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

}  // namespace podctl
