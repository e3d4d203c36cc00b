// --gather and --diff as they are read: equal outputs once, the biggest group first; with --diff
// the other groups as differences from the biggest.
#pragma once

#include <functional>

#include "cmd/outlet.h"
#include "plans/fleet/exec/outcome.h"

namespace podctl {

// `enough` is asked at each line; false when it ended the showing.
bool ShowGathered(Streams& streams, const Gatherer& gatherer, bool diff,
                  const std::function<bool()>& enough);

}  // namespace podctl
