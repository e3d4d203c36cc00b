// The order of things: dependencies between pods, and between the changes of a plan. Pure.
#pragma once

#include <vector>

#include "plans/engine/change.h"
#include "plans/spec/spec.h"

namespace podctl {

// Pods so that each comes after those it depends on; otherwise in the spec's order. The loader has
// refused cycles; should one be there all the same, its pods come last, in the spec's order.
std::vector<const PodSpec*> InDependencyOrder(const Spec& spec);

// Removes waits for addresses that this plan does not change, and waits of a delete for a change
// that waits for it (a pod that is replaced while its former dependency goes).
void DropIdleWaits(Plan* plan);

}  // namespace podctl
