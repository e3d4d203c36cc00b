// `plan --out FILE`, `show FILE` and what `apply FILE` does before anything is changed.
#pragma once

#include <optional>
#include <string>

#include "cmd/commands/apply.h"
#include "cmd/commands/plan_run.h"
#include "cmd/wiring.h"

namespace podctl {

// Keeps the plan in `path`, which is created or was a saved plan before. Shows the error itself.
bool SaveThePlan(Wiring& wiring, const PlanRun& run, const std::string& path);

// The saved plan as text or, with --json, in the format of `terraform show -json`.
int RunShowPlan(Wiring& wiring, const std::string& path, bool markdown);

// Takes the lock, refuses a plan that is stale, and brings back what a file must not hold. Shows
// every problem itself; nullopt: exit 1, or 130 when interrupted.
std::optional<PlanRun> PrepareSavedPlan(Wiring& wiring, const ApplyOptions& options);

}  // namespace podctl
