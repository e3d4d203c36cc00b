#include "plans/jobs/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "plans/spec/devices.h"
#include "providers/base/text.h"
#include "providers/gcp/available_types.h"

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

namespace {

constexpr int kMeshPort = 8477;
constexpr int kControllerPort = 8476;

std::string TopologyOf(const Value& node) {
  const std::string& type = node["acceleratorType"].AsString();
  if (type.empty()) return node["acceleratorConfig"]["topology"].AsString();
  const auto accelerator = gcp::FindAccelerator(type);
  return accelerator ? accelerator->topology : "";
}

}  // namespace

std::string HostBounds(const std::string& topology) {
  std::vector<int> sides;
  for (std::string_view rest = topology; !rest.empty();) {
    const auto cross = rest.find('x');
    const std::string_view side = rest.substr(0, cross);
    int length = 1;
    std::from_chars(side.data(), side.data() + side.size(), length);
    // A host has 2x2 chips, and is one deep.
    sides.push_back(sides.size() < 2 ? std::max(1, length / 2) : length);
    rest = cross == std::string_view::npos ? std::string_view() : rest.substr(cross + 1);
  }
  sides.resize(3, 1);
  return fmt::format("{}", fmt::join(sides, ","));
}

std::map<std::string, std::string> XlaDistVariables(const LaunchPod& pod, int worker) {
  const std::string& master = pod.workers.front().address;
  const auto host = HostOf(pod.node);
  std::map<std::string, std::string> env = {
      {"XRT_LOCAL_WORKER", fmt::format("c_localservice:{}", worker)},
      {"XRT_MESH_SERVICE_ADDRESS", fmt::format("{}:{}", master, kMeshPort)},
      {"XRT_SHARD_WORLD_SIZE", std::to_string(pod.workers.size())},
      {"XRT_SHARD_ORDINAL", std::to_string(worker)},
      {"XLA_EMIT_STEPLOG", "1"},
      {"TPUVM_MODE", "1"},
      {"CLOUD_TPU_TASK_ID", std::to_string(worker)},
      {"TPU_CHIPS_PER_HOST_BOUNDS", "2,2,1"},
      {"TPU_MESH_CONTROLLER_ADDRESS", fmt::format("{}:{}", master, kControllerPort)},
      {"TPU_MESH_CONTROLLER_PORT", std::to_string(kControllerPort)}};
  if (host) env["TPU_NUM_DEVICES"] = std::to_string(host->devices());
  if (const std::string topology = TopologyOf(pod.node); !topology.empty()) {
    env["TPU_HOST_BOUNDS"] = HostBounds(topology);
  }
  if (worker != 0) return env;
  std::vector<std::string> services;
  for (std::size_t i = 0; i < pod.workers.size(); ++i) {
    services.push_back(
        fmt::format("c_localservice;{};{}:{}", i, pod.workers[i].address, kXrtServerPort));
  }
  env["XRT_TPU_CONFIG"] = fmt::format("{}", fmt::join(services, "|"));
  return env;
}

}  // namespace podctl
