// How long it is waited for commands on workers to have ended, once they were asked to: all of
// their grace as long as nobody is in a hurry; some seconds after a Ctrl-C, and not at all after a
// second one. What is still at it by then is ended by the worker itself.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

#include "providers/base/ending_text.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"

namespace podctl {

class FarewellLimit {
 public:
  // `clock` is lent. `leave`: nobody waits any more.
  FarewellLimit(const std::stop_token& leave, Clock& clock)
      : clock_(clock), on_leave_(leave, [this] { abandon_.request_stop(); }) {}

  void SetOn(ssh::Limits& limits, std::chrono::seconds grace) const {
    // A worker that is busy needs a moment to say so.
    constexpr std::chrono::seconds kMargin{10};
    limits.grace = grace;
    limits.farewell = grace + kKillTime + kMargin;
    limits.abandon = abandon_.get_token();
  }
  // Now and then, on one thread: whether somebody is in a hurry.
  void Tick(bool hurried) {
    // An interrupted podctl leaves by itself a moment later.
    constexpr std::chrono::milliseconds kPatience{4'500};
    if (!hurried) return;
    const auto now = clock_.Steady();
    if (!since_) since_ = now;
    if (now - *since_ >= kPatience) abandon_.request_stop();
  }

 private:
  Clock& clock_;
  std::optional<Clock::SteadyTime> since_;
  std::stop_source abandon_;
  const std::stop_callback<std::function<void()>> on_leave_;  // last: it uses the one before
};

}  // namespace podctl
