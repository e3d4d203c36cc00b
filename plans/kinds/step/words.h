// How the run of a step is told. Pure.
#pragma once

#include <string>

#include "plans/engine/kind.h"

namespace podctl {

ChangeWords WordsOfStep(const Change& change);
// "Bootstrap: 3 steps to run on 8 workers."; "" where none runs.
std::string SummaryOfSteps(const Plan& plan);

}  // namespace podctl
