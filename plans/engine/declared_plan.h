// Has each thing that is declared, or was, judged by its kind. Pure. Pods and their steps are the
// planner's own.
#pragma once

#include <functional>
#include <set>

#include "plans/engine/change.h"
#include "plans/engine/planner.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/spec/references.h"
#include "plans/spec/spec.h"
#include "state/state.h"

namespace podctl {

// All are lent for the call.
struct DeclaredQuestion {
  const Spec& spec;
  const State& state;
  const Observation& observation;
  const PlanOptions& options;
  const std::set<Address>& again;  // --replace
  const ReferenceLookup& nodes;
  // Lets a change wait for all that is planned for what it builds on.
  const std::function<void(const Address& base, Change* change)>& add_waits;
  const std::function<void(const Address& address, Diagnostic refusal)>& refuse;
};

// Adds a change for each, Keep included, and what has drifted.
void PlanDeclared(const DeclaredQuestion& it, Plan* plan);

}  // namespace podctl
