// How many connections a run may have open: as many as were asked for, fewer after trouble that
// looks like too many at once (refused, reset, no descriptors left), and more again with success.
#pragma once

#include <algorithm>
#include <chrono>

#include "providers/os/clock.h"

namespace podctl::ssh {

class Window {
 public:
  using Time = Clock::SteadyTime;

  explicit Window(int most) : most_(std::max(1, most)), size_(most_) {}

  int size() const { return size_; }

  // A worker was reached.
  void Success() {
    ++successes_;
    size_ = std::min(most_, size_ + 1);
  }
  // One was refused, reset or dropped. A few are their own workers' trouble; when most are, and
  // they are many, there may be too many of us.
  void Trouble(Time now) {
    ++troubles_;
    if (troubles_ < kMany || troubles_ < successes_ || now < next_cut_) return;
    Cut(std::max(kSmall, size_ / 2), now);
  }
  // This machine has no socket for more than the `open` ones.
  void NoRoom(int open, Time now) { Cut(std::max(1, open / 2), now); }

 private:
  static constexpr int kMany = 32;
  static constexpr int kSmall = 16;  // trouble of others makes it no smaller
  static constexpr std::chrono::seconds kPause{1};

  void Cut(int size, Time now) {
    size_ = std::min(size_, size);
    troubles_ = successes_ = 0;
    next_cut_ = now + kPause;
  }

  const int most_;
  int size_;
  int troubles_ = 0;
  int successes_ = 0;
  Time next_cut_ = Time::min();
};

}  // namespace podctl::ssh
