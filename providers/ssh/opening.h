// How long each stage of opening a session may take, and what to say when it took longer: the same
// for the fan-out, which never waits, and for Dial, which does. Knows no clock.
#pragma once

#include <chrono>

#include "providers/ssh/session.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

// Of the stages before kReady; zero for the others.
std::chrono::milliseconds StageLimit(Session::Stage stage, const WorkerAccess& worker,
                                     const Limits& limits);
// Why a stage is given up that took longer: "10.0.0.7:22 took the connection but said nothing
// within 10s".
Cause StageComplaint(Session::Stage stage, const WorkerAccess& worker, const Limits& limits);

}  // namespace podctl::ssh
