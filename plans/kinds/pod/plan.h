// What becomes of the pods of a plan: wanted × remembered × seen. Pure.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/references.h"
#include "providers/provider.h"

namespace podctl {

std::unique_ptr<KindPlan> BeginPodPlan(const Kind& kind, const PlanningContext& input);

// What a plan shows of a pod that is made: all that its create sends, and the state it ends in.
std::vector<AttributeChange> NewAttributes(const PodSpec& pod, const ReferenceLookup& lookup);

// Another id for the pod, for a node that is made before the one with the id it has now is deleted:
// the wanted one where that is free, else "research-2", "research-3" … `taken` tells which are not.
// Sets `node_id` and `wanted_node_id`.
void ChooseFreeNodeId(const std::function<bool(const NodeName&)>& taken, PodSpec* pod);

}  // namespace podctl
