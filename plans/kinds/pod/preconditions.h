// What a saved plan relies on of nodes: that each which it acts on or builds on is as it was. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plans/engine/kind.h"

namespace podctl {

// A precondition for each node. A change of any field or metadata key counts, whoever made it: what
// was reviewed is not what would be acted upon.
std::vector<Precondition> PreconditionsOfPods(const PreconditionInput& input);
// How it is otherwise now: "labels.team was changed"; "": it is not.
std::string ViolationOfPod(const Precondition& precondition, const Observation& observation,
                           const Digester& digest);
// The pod of a change, or of a step, of whose node there is none; "": there are all.
std::string PodWithoutPrecondition(const Plan& plan,
                                   const std::vector<Precondition>& preconditions);
// The nodes of pods that live on, as they were.
std::map<Address, Value> NodesThen(const Plan& plan,
                                   const std::vector<Precondition>& preconditions);

}  // namespace podctl
