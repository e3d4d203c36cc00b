// Decides: spec × state × what the world says now → Plan. Pure: no clock, no network, no files.
// Asks each kind for verdicts, and knows none.
#pragma once

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/engine/plan_options.h"
#include "providers/base/diagnostic.h"
#include "state/state.h"

namespace podctl {

// `state` is the settled one (Settle). What makes the plan impossible (a node of that name is there
// that podctl did not make, a pod protected by preventDestroy would go) is an error in
// `diagnostics`.
Plan MakePlan(const Spec& spec, const State& state, const Observation& observation,
              const PlanOptions& options, Kinds kinds, Diagnostics& diagnostics);

}  // namespace podctl
