// What happens during an apply, for people: plain lines, and on a terminal one live line for each
// running operation.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cmd/streams.h"
#include "plans/engine/event.h"
#include "providers/os/clock.h"

namespace podctl {

// What to call a change while it is made, in terraform's words.
struct ProgressWords {
  std::string start;     // "Creating"
  std::string still;     // "Still creating"
  std::string complete;  // "Creation complete"
};
ProgressWords WordsFor(const Change& change);

// Writes to `streams.err`. With a terminal there it keeps a block of live lines at the bottom.
std::unique_ptr<EventSink> MakeProgressView(Streams& streams, Clock& clock);

}  // namespace podctl
