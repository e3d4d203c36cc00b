// How long to wait before trying a worker again: doubling from 0.25 s to 8 s, with full jitter, so
// that thousands of workers that failed together do not come back together.
#pragma once

#include <algorithm>
#include <chrono>

#include "providers/os/clock.h"

namespace podctl::ssh {

class Backoff {
 public:
  explicit Backoff(Random& random) : random_(&random) {}

  std::chrono::milliseconds Next() {
    const std::chrono::milliseconds wait(
        static_cast<std::int64_t>(static_cast<double>(cap_.count()) * random_->Uniform()));
    cap_ = std::min(cap_ * 2, kLongest);
    return std::max(wait, kShortest);
  }

 private:
  static constexpr std::chrono::milliseconds kShortest{50};
  static constexpr std::chrono::milliseconds kFirst{250};
  static constexpr std::chrono::milliseconds kLongest{8'000};

  Random* random_;
  std::chrono::milliseconds cap_ = kFirst;
};

}  // namespace podctl::ssh
