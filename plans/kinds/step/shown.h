// What a step looks like as a resource of terraform's JSON. Pure.
#pragma once

#include "plans/engine/kind.h"
#include "plans/kinds/step/record.h"

namespace podctl {

// Of what the state remembers.
ShownObject ObjectOf(const Address& address, const StepRecord& record);
// A run's two sides; `state` is the plan's prior one.
ShownSides SidesOfStep(const Change& change, const State& state);

}  // namespace podctl
