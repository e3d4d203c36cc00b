// The rhythm of `podctl watch`: a round, a pause, a round, until it is asked to end. Knows nothing
// of what a round does.
#pragma once

#include <chrono>
#include <stop_token>

#include "providers/os/clock.h"

namespace podctl {

enum class RoundEnd {
  kNothing,      // there was nothing to do
  kActed,        // something was done
  kBlocked,      // by what costs nothing to look at again: a broken spec, somebody else's lock
  kFailed,       // it will be tried again, after a longer pause each time
  kWrongUsage,   // no round can come to anything
  kInterrupted,  // the user asked to stop
};

class WatchRound {
 public:
  virtual ~WatchRound() = default;
  virtual RoundEnd Run() = 0;
  // Before each pause.
  virtual void OnPause(Clock::SystemTime until) = 0;
};

struct WatchPace {
  std::chrono::milliseconds interval{60'000};
  // After failures in a row the pause doubles up to this, or to the interval where that is longer.
  std::chrono::milliseconds longest{10 * 60'000};
  bool once = false;
};

// How the last round ended; kInterrupted also when `stop` came in a pause.
RoundEnd Watch(WatchRound& round, const WatchPace& pace, Clock& clock, Random& random,
               const std::stop_token& stop);

}  // namespace podctl
