// When the executor may save again: often enough that little is lost, seldom enough that saving
// takes no more than about a tenth of the time, so that what is written grows with the number of
// changes and not with its square.
//
// Not thread safe. Knows no store.
#pragma once

#include <algorithm>
#include <chrono>

#include "providers/os/clock.h"

namespace podctl {

class SavePace {
 public:
  using Milliseconds = std::chrono::milliseconds;

  void Saved(Clock::SteadyTime began, Clock::SteadyTime ended) {
    saved_ = true;
    ended_ = ended;
    rest_ = 10 * std::chrono::duration_cast<Milliseconds>(ended - began);
  }

  // From when on a save for requests that wait for it is due. Requests that come a moment after one
  // another share a save; none waits longer than the limit.
  Clock::SteadyTime ForActs() const {
    return saved_ ? ended_ + std::clamp(rest_, kActsTogether, kLongestHold) : ended_;
  }
  // The same for results that nobody waits for.
  Clock::SteadyTime ForResults() const {
    return saved_ ? ended_ + std::max(rest_, kResultsTogether) : ended_;
  }

 private:
  static constexpr Milliseconds kActsTogether{20};
  static constexpr Milliseconds kLongestHold{2'000};
  static constexpr Milliseconds kResultsTogether{250};

  bool saved_ = false;
  Clock::SteadyTime ended_{};
  Milliseconds rest_{0};
};

}  // namespace podctl
