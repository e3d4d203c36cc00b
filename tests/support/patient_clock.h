// A clock for code that waits on one thread while others tick beside it: it moves when the thread
// that made it sleeps; whoever else sleeps on it waits until he is told to stop.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/support/fake_clock.h"

namespace podctl::testing {

class PatientClock final : public Clock {
 public:
  SystemTime Now() override { return clock_.Now(); }
  SteadyTime Steady() override { return clock_.Steady(); }
  bool SleepFor(std::chrono::milliseconds duration, std::stop_token stop) override {
    if (std::this_thread::get_id() == owner_) return clock_.SleepFor(duration, stop);
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
    return false;
  }
  void Advance(std::chrono::milliseconds duration) { clock_.Advance(duration); }
  std::chrono::milliseconds Elapsed() { return clock_.Elapsed(); }

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  FakeClock clock_;
};

}  // namespace podctl::testing
