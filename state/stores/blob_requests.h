// How often, and for how long, a request to a place of objects is repeated.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "providers/base/error.h"
#include "providers/os/clock.h"
#include "state/blob_store.h"

namespace podctl {

// Whether the same request may succeed in a while: an outage, a limit of requests, a lost answer.
inline bool MayPass(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kReplyLost:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kAborted:
    case ErrorCode::kInternal:
      return true;
    default:
      return false;
  }
}

// Told of a pause that is long enough for somebody to wonder, before it begins.
using OnPause = std::function<void(const Error& why, std::chrono::milliseconds pause)>;

// The pauses between the tries of one request: they grow, and end when the patience does. Of
// several that fail at once not all come back in the same moment.
class RequestPauses {
 public:
  RequestPauses(Clock& clock, Random& random, std::chrono::milliseconds patience,
                OnPause on_pause = {})
      : clock_(clock),
        random_(random),
        end_(clock.Steady() + patience),
        on_pause_(std::move(on_pause)) {}

  // Sleeps; false when there shall be no further try. `why`: of the one that failed.
  bool Again(const Error& why, const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kLongest{8000};
    constexpr std::chrono::milliseconds kTold{1500};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - clock_.Steady());
    if (left.count() <= 0 || stop.stop_requested()) return false;
    const std::chrono::milliseconds jittered(static_cast<std::int64_t>(
        static_cast<double>(pause_.count()) * (0.75 + random_.Uniform() / 2)));
    pause_ = std::min(2 * pause_, kLongest);
    const std::chrono::milliseconds pause = std::min(jittered, left);
    if (on_pause_ && pause >= kTold) on_pause_(why, pause);
    return clock_.SleepFor(pause, stop);
  }

 private:
  Clock& clock_;
  Random& random_;
  Clock::SteadyTime end_;
  OnPause on_pause_;
  std::chrono::milliseconds pause_{250};
};

// Repeats `ask`, which only reads, while it fails for what may pass.
template <typename Ask>
auto AskUntilAnswered(RequestPauses pauses, const std::stop_token& stop, const Ask& ask)
    -> decltype(ask()) {
  for (;;) {
    auto answer = ask();
    if (answer || !MayPass(answer.error().code) || !pauses.Again(answer.error(), stop)) {
      return answer;
    }
  }
}

}  // namespace podctl
