// Whether what a saved plan relies on is still as it was when the plan was made.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/engine/plan_file/secrets.h"

namespace podctl {

// Nothing for a plan that was made without asking the world. `state` is the settled one.
std::vector<Stake> TakeStakes(const Plan& plan, const State& state, const Observation& observation,
                              const SecretKey& key, Kinds kinds);

// What is otherwise now, a clause each, by kind and address: "pod.research: labels.team was
// changed".
std::vector<std::string> FindOtherwise(const std::vector<Stake>& stakes,
                                       const Observation& observation, const SecretKey& key,
                                       Kinds kinds);

}  // namespace podctl
