// podctl watch: looks again and again, and makes pods anew that the service took away.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunWatch(Wiring& wiring, const WatchOptions& options);

}  // namespace podctl
