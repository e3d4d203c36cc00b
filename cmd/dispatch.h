// From a parsed command line to the command that serves it.
#pragma once

#include "cmd/arguments.h"
#include "cmd/streams.h"

namespace podctl {

// Returns the exit code.
int Dispatch(const Invocation& invocation, Streams& streams);

}  // namespace podctl
