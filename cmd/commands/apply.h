// plan, apply and destroy.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunPlan(Wiring& wiring, const ApplyOptions& options);
// `destroy`: apply of the empty spec.
int RunApply(Wiring& wiring, const ApplyOptions& options, bool destroy);

}  // namespace podctl
