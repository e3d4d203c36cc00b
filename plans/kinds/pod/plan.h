// What becomes of the pods of a plan: wanted × remembered × seen. Pure.
#pragma once

#include <memory>

#include "plans/engine/kind.h"

namespace podctl {

std::unique_ptr<KindPlan> BeginPodPlan(const Kind& kind, const PlanQuestion& question);

}  // namespace podctl
