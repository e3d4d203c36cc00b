// How a command ends that could not do what it was told: what went wrong is shown in one way, and
// the exit code comes from one table, so that the same failure has the same code in every command.
#pragma once

#include <string>

#include "cmd/wiring.h"
#include "providers/base/error.h"

namespace podctl {

// 3 where the state is locked by another, 4 where a plan is not the one that was reviewed, 130
// where the user has interrupted, else 1.
int ExitCodeOf(ErrorCode code);

// After a failure that was shown already: the code of the error that was shown last.
int FailedExitCode(Wiring& wiring);

// Shows an error: as a diagnostic on stderr, or with --json as an event on stdout. Returns the exit
// code.
int ShowFailure(Wiring& wiring, const Error& error, const std::string& summary = {});

}  // namespace podctl
