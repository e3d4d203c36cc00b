// Taking the state's lock for a command, with a word to who waits for it.
#pragma once

#include <memory>
#include <string>

#include "cmd/wiring.h"
#include "state/store.h"

namespace podctl {

// --lock-timeout, and that who waits is told so: for whom, and now and then that he still does.
// `wiring` is lent.
LockWait PatienceFor(Wiring& wiring);

// Takes the lock with that patience, and shows every problem itself (and that a dead run's lock was
// taken over). nullptr: exit 1, or 130 when interrupted.
std::unique_ptr<StateLock> TakeLock(Wiring& wiring, StateStore& store,
                                    const std::string& operation);

}  // namespace podctl
