// podctl show FILE: a saved plan, for who reviews it.
#pragma once

#include "cmd/commands/apply.h"
#include "cmd/wiring.h"

namespace podctl {

// As text or, with --json, in the format of `terraform show -json`. Behind the plan stands what
// else its apply goes by, and above it whether anybody vouches for it.
int RunShowPlan(Wiring& wiring, const ApplyOptions& options);

}  // namespace podctl
