#include "plans/jobs/ranks.h"

#include <fmt/format.h>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr int kJaxPort = 8482;     // the one that JAX chooses on a TPU VM
constexpr int kTorchPort = 29500;  // torchrun's own default
constexpr int kRayPort = 6379;     // of `ray start --head`

// An IPv6 address and a port must not run into each other.
std::string WithPort(const std::string& address, int port) {
  const bool is_ipv6 = address.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", address, port) : fmt::format("{}:{}", address, port);
}

}  // namespace

std::map<std::string, std::string> PlaceVariables(const LaunchPod& pod, int worker) {
  std::vector<std::string> addresses;
  for (const LaunchPod::Worker& each : pod.workers) addresses.push_back(each.address);
  const int workers = static_cast<int>(pod.workers.size());
  const int per_slice = pod.per_slice > 0 ? pod.per_slice : workers;
  return {{"PODCTL_POD", pod.name},
          {"PODCTL_WORKER", std::to_string(worker)},
          {"PODCTL_WORKERS", std::to_string(workers)},
          {"PODCTL_ADDRESSES", Join(addresses, ",")},
          {"PODCTL_SLICE", std::to_string(worker / per_slice)},
          {"PODCTL_SLICES", std::to_string(workers / per_slice)}};
}

std::map<std::string, std::string> RankVariables(Launcher launcher, const LaunchPod& pod,
                                                 const std::vector<int>& chosen,
                                                 std::size_t position) {
  const std::string& first = pod.workers[static_cast<std::size_t>(chosen.front())].address;
  const std::string rank = std::to_string(position);
  const std::string size = std::to_string(chosen.size());
  switch (launcher) {
    case Launcher::kJax:
      return {{"JAX_COORDINATOR_ADDRESS", WithPort(first, kJaxPort)},
              {"JAX_NUM_PROCESSES", size},
              {"JAX_PROCESS_ID", rank}};
    case Launcher::kTorch:
      // Lightning, which sees by LOCAL_RANK that somebody else starts its processes, reads
      // NODE_RANK then, and takes every process for the first one without it.
      return {{"MASTER_ADDR", first}, {"MASTER_PORT", std::to_string(kTorchPort)},
              {"RANK", rank},         {"WORLD_SIZE", size},
              {"LOCAL_RANK", "0"},    {"LOCAL_WORLD_SIZE", "1"},
              {"NODE_RANK", rank}};
    case Launcher::kTorchrun:
      return {{"PET_MASTER_ADDR", first},
              {"PET_MASTER_PORT", std::to_string(kTorchPort)},
              {"PET_NODE_RANK", rank},
              {"PET_NNODES", size}};
    case Launcher::kRay:
      return {{"RAY_ADDRESS", WithPort(first, kRayPort)}};
    case Launcher::kPjrt:
    case Launcher::kTensorflow:
    case Launcher::kXlaDist:
    case Launcher::kEstimator:
    case Launcher::kShell:
      break;
  }
  return {};
}

}  // namespace podctl
