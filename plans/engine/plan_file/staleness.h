// Whether nodes, and things of other kinds, are still as they were when a plan was made.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/plan_file.h"
#include "plans/engine/plan_file/secrets.h"
#include "plans/kinds/pod/refresh.h"
#include "state/state.h"

namespace podctl {

// What the API said of every node that `plan` acts on or builds on, for the file. `state` is the
// settled one. Nothing for a plan that was made without asking the API.
std::vector<SavedNode> TakeNodes(const Plan& plan, const State& state,
                                 const Observation& observation, const SecretKey& key);

// What is otherwise now, a clause each, sorted by address: "pod.research: labels.team was changed".
// A change of any field or metadata key counts, whoever made it: what was reviewed is not what
// would be acted upon.
std::vector<std::string> FindChanges(const std::vector<SavedNode>& nodes,
                                     const Observation& observation, const SecretKey& key);

// The same of the things of other kinds that `plan` acts on, as far as their kind minds.
std::vector<SavedStake> TakeStakes(const Plan& plan, const Observation& observation);
std::vector<std::string> FindOtherwise(const std::vector<SavedStake>& stakes,
                                       const Observation& observation, Kinds kinds);

}  // namespace podctl
