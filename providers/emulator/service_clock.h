// The time that the emulated service believes in: the machine's, and what a user skipped of it.
//
// A rehearsal need not wait six hours for a request to expire: Advance moves the service on, and
// nothing else. Thread safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace podctl::emulator {

class ServiceClock {
 public:
  std::int64_t NowMs() const;  // since the epoch
  // RFC 3339 in UTC with nanoseconds, as the service prints times.
  std::string Timestamp() const;

  // Forward only.
  void Advance(std::chrono::milliseconds by) { skipped_ms_ += by.count(); }
  std::int64_t skipped_ms() const { return skipped_ms_; }

 private:
  std::atomic<std::int64_t> skipped_ms_ = 0;
};

}  // namespace podctl::emulator
