#include "plans/kinds/pod/power.h"

#include <algorithm>
#include <utility>

#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/spec.h"

namespace podctl {

std::optional<Power> WantedPower(const PodSpec& pod, const Value& node) {
  const std::string state = NodeState(node);
  if (!pod.desired_state || state == *pod.desired_state) return std::nullopt;
  if (pod.desired_state == "READY") {
    const bool off = IsStopped(node) || state == "STARTING";
    return off ? std::make_optional(Power::kStart) : std::nullopt;
  }
  const bool on =
      state == "READY" || state == "STARTING" || state == "RESTARTING" || state == "STOPPING";
  return on ? std::make_optional(Power::kStop) : std::nullopt;
}

bool StaysStopped(const PodSpec& pod, const Value* node) {
  if (pod.desired_state) return pod.desired_state == "STOPPED";
  return node != nullptr && IsStopped(*node);
}

void AddStateChange(const Value* node, const PodSpec& pod,
                    std::vector<AttributeChange>* attributes) {
  AttributeChange change;
  change.path = "state";
  if (node != nullptr) change.before = Value(NodeState(*node));
  change.after = Value(pod.desired_state.value_or(""));
  const auto place =
      std::find_if(attributes->begin(), attributes->end(),
                   [](const AttributeChange& attribute) { return attribute.path > "state"; });
  attributes->insert(place, std::move(change));
}

std::vector<AttributeChange> NewAttributes(const PodSpec& pod, const ReferenceLookup& lookup) {
  std::vector<AttributeChange> attributes = CreateAttributes(pod, lookup);
  if (pod.desired_state == "STOPPED") AddStateChange(nullptr, pod, &attributes);
  return attributes;
}

}  // namespace podctl
