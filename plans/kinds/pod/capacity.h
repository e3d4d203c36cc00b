// What the plan says of pods that wait for capacity, and of pods whose node was taken away. Pure.
#pragma once

#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "state/state.h"

namespace podctl {

// Why there is no node, as the reason of the change that makes one, and whether it was lost.
void ExplainMissing(const PodSpec& pod, const PodRecord& record, Change* change);

// What an earlier run began to make anew is lost still, whatever there is by now.
void GoOnRecovering(const PodRecord& record, Change* change);

// Where a pod's node may come to be, and how long room for it is sought, as lines of a plan.
void AddCapacity(const PodSpec& pod, std::vector<AttributeChange>* attributes);

}  // namespace podctl
