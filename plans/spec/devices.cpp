#include "plans/spec/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "providers/base/text.h"
#include "providers/gcp/available_types.h"

namespace podctl {
namespace {

// How many chips one process can be given, and in which arrangement libtpu then wants them.
struct Arrangement {
  int chips;
  std::string_view bounds;  // TPU_CHIPS_PER_PROCESS_BOUNDS
};
constexpr Arrangement kArrangements[] = {{1, "1,1,1"}, {2, "1,2,1"}, {4, "2,2,1"}, {8, "2,4,1"}};

bool CountsCores(std::string_view type) {
  return type.starts_with("v2-") || type.starts_with("v3-");
}

// The chips that hold the devices of the list.
std::vector<int> ChipsOf(const JobDevices& devices, const TpuHost& host) {
  std::vector<int> chips;
  if (devices.kind == JobDevices::Kind::kList) {
    for (const int device : devices.list) chips.push_back(device / host.cores_per_chip);
    chips.erase(std::unique(chips.begin(), chips.end()), chips.end());
    return chips;
  }
  const int count = devices.kind == JobDevices::Kind::kAll ? host.devices() : devices.count;
  chips.resize(static_cast<std::size_t>((count + host.cores_per_chip - 1) / host.cores_per_chip));
  std::iota(chips.begin(), chips.end(), 0);
  return chips;
}

const Arrangement* ArrangementOf(std::size_t chips) {
  for (const Arrangement& each : kArrangements) {
    if (static_cast<std::size_t>(each.chips) == chips) return &each;
  }
  return nullptr;
}

// Neighbours in the order of their numbers, from a multiple of how many they are.
bool AreNeighbours(const std::vector<int>& chips) {
  const int count = static_cast<int>(chips.size());
  return chips.front() % count == 0 && chips.back() - chips.front() == count - 1;
}

std::string WhatThereIs(const TpuHost& host) {
  std::string counts = host.cores_per_chip > 1 ? "auto, 1" : "auto";
  for (const Arrangement& each : kArrangements) {
    if (each.chips <= host.chips) counts += fmt::format(", {}", each.chips * host.cores_per_chip);
  }
  return fmt::format("{}, or one of [0] to [{}]", counts, host.devices() - 1);
}

}  // namespace

std::optional<TpuHost> HostOf(const Value& node) {
  const auto found = gcp::AcceleratorOf(node);
  if (!found || found->workers <= 0) return std::nullopt;
  const std::string& generation = node["acceleratorConfig"]["type"].AsString();
  TpuHost host;
  host.type = node["acceleratorType"].AsString();
  if (CountsCores(host.type) || generation == "V2" || generation == "V3") host.cores_per_chip = 2;
  if (host.type.empty()) host.type = fmt::format("{} {}", generation, found->topology);
  host.hosts = found->workers;
  host.chips = found->chips / found->workers;
  return host;
}

std::optional<DeviceProblem> CheckDevices(const JobDevices& devices, const TpuHost& host) {
  if (devices.kind == JobDevices::Kind::kAll) return std::nullopt;
  const std::string each = host.cores_per_chip > 1
                               ? fmt::format("{} devices ({} of two cores each)", host.devices(),
                                             Plural(static_cast<std::size_t>(host.chips), "chip"))
                               : Plural(static_cast<std::size_t>(host.devices()), "device");
  if (devices.kind == JobDevices::Kind::kList && devices.list.back() >= host.devices()) {
    return DeviceProblem{fmt::format("a host of {} has {}, so there is no device {}", host.type,
                                     each, devices.list.back()),
                         WhatThereIs(host)};
  }
  if (devices.kind == JobDevices::Kind::kCount && devices.count > host.devices()) {
    return DeviceProblem{fmt::format("a host of {} has {}, not {}", host.type, each, devices.count),
                         WhatThereIs(host)};
  }
  const std::vector<int> chips = ChipsOf(devices, host);
  const bool halves = devices.kind == JobDevices::Kind::kCount && devices.count > 1 &&
                      devices.count % host.cores_per_chip != 0;
  if (halves || ArrangementOf(chips.size()) == nullptr) {
    const std::size_t count = devices.kind == JobDevices::Kind::kList
                                  ? devices.list.size()
                                  : static_cast<std::size_t>(devices.count);
    return DeviceProblem{
        fmt::format("{} of the {} of a host of {} cannot be one process's", count, each, host.type),
        WhatThereIs(host)};
  }
  if (!AreNeighbours(chips)) {
    return DeviceProblem{"devices of one process must be neighbours",
                         chips.size() == 2 && host.cores_per_chip == 1 ? "such as [0, 1] or [2, 3]"
                                                                       : WhatThereIs(host)};
  }
  return std::nullopt;
}

std::string DescribeVisible(const JobDevices& devices, const TpuHost& host) {
  if (devices.kind != JobDevices::Kind::kList || DeviceVariables(devices, host).empty()) return {};
  const std::vector<int> chips = ChipsOf(devices, host);
  const int first = chips.front() * host.cores_per_chip;
  std::vector<std::string> seen;
  for (const int device : devices.list) seen.push_back(std::to_string(device - first));
  const bool one = devices.list.size() == 1;
  return fmt::format("{} {} of the host {} {} of the {} that the program sees (from 0)",
                     one ? "device" : "devices", fmt::join(devices.list, ", "), one ? "is" : "are",
                     Join(seen, ", "), static_cast<int>(chips.size()) * host.cores_per_chip);
}

std::map<std::string, std::string> DeviceVariables(const JobDevices& devices, const TpuHost& host) {
  const std::vector<int> chips = ChipsOf(devices, host);
  const Arrangement* arrangement = ArrangementOf(chips.size());
  if (arrangement == nullptr || static_cast<int>(chips.size()) == host.chips) return {};
  return {{"TPU_VISIBLE_CHIPS", fmt::format("{}", fmt::join(chips, ","))},
          {"TPU_CHIPS_PER_PROCESS_BOUNDS", std::string(arrangement->bounds)},
          {"TPU_PROCESS_BOUNDS", "1,1,1"}};
}

}  // namespace podctl
