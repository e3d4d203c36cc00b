// From a parsed command line to the command that serves it.
#pragma once

#include <string>
#include <vector>

#include "cmd/arguments.h"
#include "cmd/outlet.h"

namespace podctl {

// Both return the exit code.
int Dispatch(const Invocation& invocation, Streams& streams);
// `words` are those of the line that cannot be run.
int ShowUsageError(const UsageError& wrong, const std::vector<std::string>& words,
                   Streams& streams);

}  // namespace podctl
