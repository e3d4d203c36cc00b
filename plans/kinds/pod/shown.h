// What a pod looks like as a resource of terraform's JSON. Pure.
#pragma once

#include "plans/engine/kind.h"
#include "plans/kinds/pod/record.h"

namespace podctl {

// Of what the state remembers.
ShownObject ObjectOf(const PodRecord& record);
// A change's two sides; `state` is the plan's prior one.
ShownSides SidesOfPod(const Change& change, const State& state);
// The pod as the spec has it, and its steps.
std::vector<Configured> ConfiguredPod(const Change& change);

}  // namespace podctl
