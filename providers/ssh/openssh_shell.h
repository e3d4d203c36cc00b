// A shell, or one command, on one worker with this terminal connected to it, by the program `ssh`:
// what interactive.h does by itself. Knows nothing of how ssh logs in, which may ask the user.
#pragma once

#include <stop_token>

#include "providers/os/environment.h"
#include "providers/ssh/interactive.h"

namespace podctl::ssh {

// Blocks until ssh ends: kExited with its exit code, which is the remote side's, or 255 when there
// was no session, which ssh has told then; kSignaled when ssh itself was killed; kCancelled on
// `stop`. kUnreachable when it cannot be started. Of `options` the command and the terminal count:
// there is one attempt, and ssh has the limits of its own configuration.
WorkerResult RunShellByProgram(const WorkerAccess& worker, const ShellOptions& options,
                               const Environment& environment, const std::stop_token& stop);

}  // namespace podctl::ssh
