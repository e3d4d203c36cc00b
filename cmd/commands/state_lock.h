// How the state's lock is asked for by a command, with a word to who waits for it.
#pragma once

#include <string>

#include "cmd/wiring.h"
#include "plans/session/plan.h"

namespace podctl {

// With --lock-timeout; who waits is told for whom, and now and then that he still does. `wiring` is
// lent.
LockRequest RequestFor(Wiring& wiring, const std::string& operation);

}  // namespace podctl
