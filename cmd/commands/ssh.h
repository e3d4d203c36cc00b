// podctl ssh: an interactive shell, or one command, on one worker.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

// Exits with the remote side's code; 255 when there was no session, as ssh does.
int RunSsh(Wiring& wiring, const PodOptions& options);

}  // namespace podctl
