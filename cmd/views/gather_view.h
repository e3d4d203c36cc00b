// --gather and --diff as they are read: equal outputs once, the biggest group first; with --diff
// the other groups as differences from the biggest.
#pragma once

#include <functional>

#include "cmd/output_filter.h"
#include "plans/fleet/exec/outcome.h"
#include "plans/fleet/worker_round.h"
#include "providers/os/clock.h"

namespace podctl {

// `enough` is asked at each line; false when it ended the showing.
bool ShowGathered(Streams& streams, const Gatherer& gatherer, bool diff,
                  const std::function<bool()>& enough);

// The same while a user may interrupt it. A Ctrl-C meanwhile ends it; after one before, it may go
// on for a moment. `interrupted` becomes what it is then.
void ShowOutputs(const Gatherer& gatherer, bool diff, const StopTokens& stops, Clock& clock,
                 Streams& streams, bool* interrupted);

}  // namespace podctl
