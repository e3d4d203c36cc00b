// A clock for code that waits on one thread while another ticks beside it: it moves when the thread
// that made it sleeps; who else sleeps on it waits until he is let go on, or told to stop.
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
    std::unique_lock lock(mutex_);
    ++sleeps_;
    changed_.notify_all();
    if (!changed_.wait(lock, stop, [this] { return ticks_ > 0; })) return false;
    --ticks_;
    return true;
  }
  void Advance(std::chrono::milliseconds duration) { clock_.Advance(duration); }
  std::chrono::milliseconds Elapsed() { return clock_.Elapsed(); }
  // The one other thread wakes up once; returns when it sleeps again.
  void LetTick() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return sleeps_ > 0; });
    const int before = sleeps_;
    ++ticks_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return sleeps_ > before; });
  }

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  FakeClock clock_;
  std::mutex mutex_;  // of what follows
  std::condition_variable_any changed_;
  int sleeps_ = 0;  // that were begun
  int ticks_ = 0;
};

}  // namespace podctl::testing
