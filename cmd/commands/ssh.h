// podctl ssh: an interactive shell, or one command, on one worker.
#pragma once

#include <optional>
#include <string>

#include "cmd/commands/pod_target.h"
#include "cmd/wiring.h"
#include "plans/fleet/exec/options.h"

namespace podctl {

// Exits with the remote side's code, or as every command does that failed when there was no
// session.
int RunSsh(Wiring& wiring, const PodOptions& options);

// A command (empty: the login shell) on one worker with this terminal connected to it; `tty`: it is
// given a terminal there, nullopt: when this is one. Returns its exit code; nullopt when there was
// no session, which was told.
std::optional<int> RunOnTerminal(Wiring& wiring, const PodTarget& target,
                                 const WorkerAccess& worker, const std::string& command,
                                 std::optional<bool> tty);

}  // namespace podctl
