// How an apply or a destroy ended, for people.
#pragma once

#include <string>

#include "cmd/streams.h"
#include "plans/engine/executor.h"

namespace podctl {

// The counts on standard output; on standard error what was skipped, waits or is still under way.
void ShowApplied(Streams& streams, const ExecuteResult& result, bool destroy);

// Of what an interrupt, or the end of waiting, has left to the next run; "" of nothing. A line, and
// one more for each step that was asked to end; without a newline at the end.
std::string UnfinishedText(const ExecuteResult& result);

}  // namespace podctl
