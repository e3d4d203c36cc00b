#include "plans/kinds/pod/node_ids.h"

#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"

namespace podctl {

void SettleNode(const PodRecord* record, PodSpec* pod) {
  if (record == nullptr) return;
  if (pod->capacity && record->project == pod->project) {
    const std::vector<std::string>& zones = pod->capacity->zones;
    const bool may_be_there = std::find(zones.begin(), zones.end(), record->zone) != zones.end();
    if (may_be_there) pod->zone = record->zone;
  }
  const bool stands = !pod->node_id_given || pod->node_id == record->wanted_node_id;
  if (!stands) return;
  pod->node_id = record->current.locator;
  pod->wanted_node_id = record->wanted_node_id;
}

void ChooseFreeNodeId(const std::function<bool(const NodeName&)>& taken, PodSpec* pod) {
  constexpr std::size_t kLongest = 63;  // of a Compute Engine name, which workers get from it
  const std::string wanted = pod->wanted_node_id.empty() ? pod->node_id : pod->wanted_node_id;
  std::string id = wanted;
  // Ends: only so many names are taken.
  for (int i = 2; taken({pod->project, pod->zone, id}); ++i) {
    const std::string suffix = fmt::format("-{}", i);
    id = wanted.substr(0, kLongest - suffix.size()) + suffix;
  }
  pod->node_id = id;
  pod->wanted_node_id = id == wanted ? "" : wanted;
}

}  // namespace podctl
