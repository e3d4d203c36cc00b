// What a step looks like as a resource of terraform's JSON. Pure.
#pragma once

#include <string>

#include "plans/engine/kind.h"
#include "plans/kinds/step/record.h"

namespace podctl {

// Of what the state remembers.
ShownObject ObjectOf(const Address& address, const StepRecord& record);
// A run's two sides; `state` is the plan's prior one.
ShownSides SidesOfStep(const Change& change, const State& state);

// ---- How the run of a step is told. Pure.

ChangeWords WordsOfStep(const Change& change);
// "Bootstrap: 3 steps to run on 8 workers."; "" where none runs.
std::string SummaryOfSteps(const Plan& plan);

}  // namespace podctl
