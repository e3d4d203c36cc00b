#include "plans/jobs/xla_dist.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "plans/spec/devices.h"
#include "providers/gcp/offered_types.h"

namespace podctl {
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
