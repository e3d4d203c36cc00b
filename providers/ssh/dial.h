// One session for a caller that has time: connects, logs in, and tries again while that may help.
// The shell and the tunnel begin with it; the fan-out does all of this without waiting.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "providers/base/error.h"
#include "providers/os/clock.h"
#include "providers/ssh/session.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

// Blocks until the session is ready, at most for Limits::retry (once keys were refused: for
// Limits::auth_retry from then on) and the attempt under way then.
// `on_trouble` is told why an attempt failed that is not the last one. Errors: kUnavailable,
// kUnauthenticated (no key accepted), kFailedPrecondition (host key changed or unknown, or no
// program that leads there: never tried again), kCancelled (stop). `why`: of the last attempt.
Result<std::unique_ptr<Session>> Dial(const WorkerAccess& worker,
                                      const std::shared_ptr<const Identities>& identities,
                                      const Limits& limits, Clock& clock, Random& random,
                                      const std::function<void(const std::string&)>& on_trouble,
                                      const std::stop_token& stop, Cause* why = nullptr);

}  // namespace podctl::ssh
