// `show FILE`: a saved plan.
#pragma once

#include "cmd/commands/apply.h"

namespace podctl {

// As text or, with --json, in the format of `terraform show -json`.
int RunShowPlan(Wiring& wiring, const ApplyOptions& options);

}  // namespace podctl
