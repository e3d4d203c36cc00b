// What becomes of the pods of a plan: wanted × remembered × seen. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/kinds/pod/spec.h"

namespace podctl {

std::unique_ptr<KindPlan> BeginPodPlan(const Kind& kind, const PlanQuestion& question);

// ---- `lifecycle.replaceTriggeredBy`: whether what is planned for one address replaces another.
// Pure.

// Takes down what others may be triggered by. `differences`: what the spec wants otherwise than it
// is, of a pod that is patched or replaced.
void NoteDifferences(const Change& change, std::vector<AttributeChange> differences, Facts* facts);

// The reason, as a clause ("pod.base is replaced"), or "". As in terraform, that another pod is
// made for the first time is no trigger.
std::string FindTrigger(const LifecycleSpec& lifecycle, const FactsLookup& facts);

}  // namespace podctl
