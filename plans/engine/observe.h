// Asks the world what is there now, and settles what an earlier run left pending: each kind says
// what is asked, and what the answer means.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/engine/observation.h"
#include "providers/base/error.h"
#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

// Up to `parallelism` calls at once. The first failure is returned.
Result<Observation> Observe(const SurveyQuestion& question, Kinds kinds, Provider& provider,
                            int parallelism, const std::stop_token& stop);

// The state brought up to what was observed, without contacting anything. Notes for the user are
// appended to `notes`.
State Settle(State state, const Observation& observation, Kinds kinds,
             std::vector<std::string>* notes);

}  // namespace podctl
