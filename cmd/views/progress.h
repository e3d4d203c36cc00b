// What happens during an apply, for people: plain lines, and on a terminal one live line for each
// running operation.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cmd/streams.h"
#include "plans/event.h"
#include "providers/os/clock.h"

namespace podctl {

// Writes to `streams.err`. With a terminal there it keeps a block of live lines at the bottom.
std::unique_ptr<EventSink> MakeProgressView(Streams& streams, Clock& clock);

}  // namespace podctl
