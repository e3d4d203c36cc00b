// plan, apply and destroy.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunPlan(Wiring& wiring, const ApplyOptions& options);
// With `options.destroy` the empty spec is applied.
int RunApply(Wiring& wiring, const ApplyOptions& options);

}  // namespace podctl
