// Whether a pod's node is to run or to stand still (`desiredState` of the spec). Pure.
#pragma once

#include <optional>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/references.h"
#include "providers/base/value.h"

namespace podctl {

// What has to be done so that `node` is in the state that the spec wants; nullopt: nothing, or the
// node is in a state from which neither leads there.
std::optional<Power> WantedPower(const PodSpec& pod, const Value& node);

// Whether the workers will not answer, so that what is to run on them waits until they are started.
// `node` is nullptr when it is about to be made.
bool StaysStopped(const PodSpec& pod, const Value* node);

// Adds the line `state: READY -> STOPPED` to those of a plan, which are sorted by path. `node` is
// nullptr when there is none yet.
void AddStateChange(const Value* node, const PodSpec& pod,
                    std::vector<AttributeChange>* attributes);

// What a plan shows of a pod that is made: all that its create sends, and the state it ends in.
std::vector<AttributeChange> NewAttributes(const PodSpec& pod, const ReferenceLookup& lookup);

}  // namespace podctl
