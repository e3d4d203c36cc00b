// The variables that `python -m torch_xla.distributed.xla_dist` set on each worker of a pod
// (PyTorch/XLA up to 2.0), so that images which still need XRT find what they know.
#pragma once

#include <map>
#include <string>

#include "plans/jobs/launch.h"

namespace podctl {

// Where the XRT server of each worker listens.
inline constexpr int kXrtServerPort = 51011;

std::map<std::string, std::string> XlaDistVariables(const LaunchPod& pod, int worker);

// "4x8" -> "2,4,1": the hosts along each side, four chips each.
std::string HostBounds(const std::string& topology);

}  // namespace podctl
