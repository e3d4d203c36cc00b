// podctl state history and restore: the generations that were kept, and the way back to one.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunStateHistory(Wiring& wiring);
int RunStateRestore(Wiring& wiring, const StateOptions& options);

}  // namespace podctl
