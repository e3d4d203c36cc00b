// podctl state pull and push: the whole state out of its place, and back into it.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunStatePull(Wiring& wiring);
int RunStatePush(Wiring& wiring, const StateOptions& options);

}  // namespace podctl
