// Whether what a saved plan relies on is still as it was when the plan was made.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/engine/plan_file.h"
#include "plans/engine/plan_file/secrets.h"

namespace podctl {

// Nothing for a plan that was made without asking the world. `state` is the settled one.
std::vector<Precondition> TakePreconditions(const Plan& plan, const State& state,
                                            const Observation& observation, const SecretKey& key,
                                            Kinds kinds);

// What is otherwise now, a clause each, by kind and address: "pod.research: labels.team was
// changed".
std::vector<std::string> FindViolations(const std::vector<Precondition>& preconditions,
                                        const Observation& observation, const SecretKey& key,
                                        Kinds kinds);

// ---- Whether a saved plan does what it shows: for the reader the file holds lines beside the
// action that is carried out, and who alters one need not alter the other. Pure.

// What speaks against it, a clause that names the address; "": nothing. Of what is made, all lines
// have to be those that its action gives. What is changed or replaced was compared with a node
// that is not in the file: for that the seal stands, so it needs a state.
std::string WhyShownOtherwise(const SavedPlan& saved, Kinds kinds);

}  // namespace podctl
