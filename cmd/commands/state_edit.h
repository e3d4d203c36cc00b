// podctl state mv and rm: changing what podctl remembers, never a node.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunStateMove(Wiring& wiring, const StateOptions& options);
int RunStateRemove(Wiring& wiring, const StateOptions& options);

}  // namespace podctl
