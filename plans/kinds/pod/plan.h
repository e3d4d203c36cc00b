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

std::unique_ptr<KindPlan> BeginPodPlan(const Kind& kind, const PlanQuestion& question);

// ---- Which node a pod of the spec is: the one that the state holds for it, unless the spec says
// otherwise. Pure.
//
// A node's id cannot be changed. So a pod whose spec writes no `nodeId` keeps the id that the state
// has, whatever the pod is called by now (`moved`, `podctl state mv`, `podctl import`); and one
// that `createBeforeDestroy` gave another id keeps that one, as long as the spec's own is the same.
//
// Nor can its zone: a pod with `capacity.zones` stays in the zone where there was room for it.

// Another id for the pod, for a node that is made before the one with the id it has now is deleted:
// the wanted one where that is free, else "research-2", "research-3" … `taken` tells which are not.
// Sets `node_id` and `wanted_node_id`.
void ChooseFreeNodeId(const std::function<bool(const NodeName&)>& taken, PodSpec* pod);

// What a plan shows of a pod that is made: all that its create sends, and the state it ends in.
std::vector<AttributeChange> NewAttributes(const PodSpec& pod, const ReferenceLookup& lookup);

}  // namespace podctl
