// `plan --out FILE`, `show FILE` and what `apply FILE` does before anything is changed.
#pragma once

#include <string>
#include <variant>

#include "cmd/commands/apply.h"
#include "cmd/wiring.h"
#include "plans/session/plan.h"

namespace podctl {

// Keeps the plan in `path`, which is created or was a saved plan before. Shows the error itself.
bool SaveThePlan(Wiring& wiring, const PlanRun& run, const std::string& path);

// The saved plan as text or, with --json, in the format of `terraform show -json`.
int RunShowPlan(Wiring& wiring, const std::string& path, bool markdown);

// What an apply of a saved plan does before anything is changed.
std::variant<PlanRun, NoPlan> PrepareSavedPlan(Wiring& wiring, const ApplyOptions& options);

}  // namespace podctl
