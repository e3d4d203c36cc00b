// A fleet as each client wants to be told of it: podctl by a state, the others by a list of hosts
// and a configuration of ssh.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/fanout/fleet.h"

namespace podctl::bench {

struct Pod {
  std::string folder;  // holds podctl.yaml, podctl.state.json, hosts, ssh_config, ssh_config_curve
  int workers = 0;
};

// How podctl's spec looks: which steps `podctl apply` would run on every worker.
struct PodOptions {
  std::vector<std::string> steps;  // shell text
};

// Writes the files into a new folder. The pod is called "pod" and has `addresses`, which are of the
// fleet. podctl finds the host key pinned; its peers check none.
Pod MakePod(const std::string& folder, const Fleet& fleet,
            const std::vector<std::string>& addresses, const PodOptions& options = {});

// The first `count` addresses of the fleet.
Pod MakePod(const std::string& folder, const Fleet& fleet, int count);

}  // namespace podctl::bench
