#include "plans/kinds/pod/reader/capacity_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "plans/spec/names.h"

namespace podctl {
namespace {

constexpr std::size_t kMostZones = 32;
constexpr std::chrono::hours kLongestRetry{30 * 24};
constexpr const char* kCapacity = "capacity";

}  // namespace

void CapacityReader::ReadCapacity(const YamlEntry& entry, const Slot& slot) {
  const YamlNode& node = *entry.value;
  pod_.capacity.emplace();
  if (!reader_.ExpectMap(node, slot)) return;
  if (node.entries.empty()) {
    return reader_.Error(node, slot, "`capacity` says nothing",
                         "such as `capacity: {retry: 2h, zones: [us-central2-b]}`");
  }
  for (const YamlEntry& member : node.entries) {
    const std::string& key = member.key->text;
    const Slot below = slot.Below(key);
    if (key == "retry") {
      const auto retry = reader_.ReadDuration(*member.value, below);
      if (retry && *retry > kLongestRetry) {
        reader_.Error(*member.value, below, "`retry` is longer than 720h", "at most `720h`");
      }
      pod_.capacity->retry = retry.value_or(std::chrono::milliseconds(0));
    } else if (key == "zones") {
      ReadZones(*member.value, below);
    } else {
      reader_.UnknownKey(*member.key, slot.Path(), {"retry", "zones"});
    }
  }
}

void CapacityReader::ReadZones(const YamlNode& node, const Slot& slot) {
  if (!reader_.ExpectList(node, slot)) return;
  if (node.items.size() > kMostZones) {
    return reader_.Error(node, slot, fmt::format("{} zones are too many", node.items.size()),
                         fmt::format("{} at most", kMostZones));
  }
  for (const YamlNodePtr& item : node.items) {
    const auto zone = reader_.ReadPlain(*item, slot);
    if (!zone || !CheckZone(reader_, *item, slot, *zone)) continue;
    std::vector<std::string>& zones = pod_.capacity->zones;
    if (std::find(zones.begin(), zones.end(), *zone) != zones.end()) {
      reader_.Error(*item, slot, fmt::format("the zone `{}` is there twice", *zone));
      continue;
    }
    zones.push_back(*zone);
  }
}

void CapacityReader::ReadOnPreemption(const YamlNode& node, const Slot& slot) {
  pod_.recreate_when_lost = reader_.ReadWord(node, slot, {"report", "recreate"}) == "recreate";
}

void CapacityReader::Check(const YamlNode& pod, const std::string& context) {
  if (!pod_.capacity) return;
  std::vector<std::string>& zones = pod_.capacity->zones;
  std::erase(zones, pod_.zone);
  zones.insert(zones.begin(), pod_.zone);
  const YamlEntry* capacity = pod.Find(kCapacity);
  const Slot slot{context, kCapacity};
  if (pod_.queued) {
    reader_.Conflict(*capacity->key, slot, "`capacity` and `queuedResource` exclude each other",
                     *pod.Find("queuedResource")->key,
                     "a queued resource waits by itself, in its zone: `timeouts: {queue: 2h}`");
  }
  if (pod_.lifecycle.create_before_destroy) {
    reader_.Error(*capacity->key, slot,
                  "`createBeforeDestroy` does not go together with `capacity`", "leave it out",
                  "While a node waits for room, its predecessor would hold what may be the last.");
  }
}

}  // namespace podctl
