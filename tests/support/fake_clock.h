// A clock that moves only when somebody sleeps or a test advances it, and chance without surprises.
#pragma once

#include <mutex>
#include <string>

#include "providers/os/clock.h"

namespace podctl::testing {

class FakeClock final : public Clock {
 public:
  SystemTime Now() override {
    std::lock_guard lock(mutex_);
    return SystemTime(std::chrono::seconds(1'795'185'000)) + elapsed_;  // 2026-11-20T14:30:00Z
  }
  SteadyTime Steady() override {
    std::lock_guard lock(mutex_);
    return SteadyTime(elapsed_);
  }
  bool SleepFor(std::chrono::milliseconds duration, std::stop_token stop) override {
    if (stop.stop_requested()) return false;
    std::lock_guard lock(mutex_);
    elapsed_ += duration;
    return true;
  }
  void Advance(std::chrono::milliseconds duration) {
    std::lock_guard lock(mutex_);
    elapsed_ += duration;
  }
  std::chrono::milliseconds Elapsed() {
    std::lock_guard lock(mutex_);
    return elapsed_;
  }

 private:
  std::mutex mutex_;
  std::chrono::milliseconds elapsed_{0};
};

class FakeRandom final : public Random {
 public:
  double Uniform() override { return 0.5; }
  std::string Uuid() override {
    const std::string number = std::to_string(++count_);
    return "00000000-0000-4000-8000-" + std::string(12 - number.size(), '0') + number;
  }

 private:
  int count_ = 0;
};

}  // namespace podctl::testing
