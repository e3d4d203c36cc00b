// Times of the emulated service: its clock, and times as texts. Thread safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace podctl::emulator {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();  // as a time

// The time that the service believes in: the machine's, and what a user skipped of it. A rehearsal
// need not wait six hours for a request to expire: Advance moves the service on, and nothing else.
class ServiceClock {
 public:
  std::int64_t NowMs() const;  // since the epoch
  // RFC 3339 in UTC with nanoseconds, as the service prints times. `later_ms`: from now.
  std::string Timestamp(std::int64_t later_ms = 0) const;

  // Forward only.
  void Advance(std::chrono::milliseconds by) { skipped_ms_ += by.count(); }
  std::int64_t skipped_ms() const { return skipped_ms_; }

 private:
  std::atomic<std::int64_t> skipped_ms_ = 0;
};

// RFC 3339 with microseconds, as Vertex AI prints milliseconds since the epoch.
std::string TimeText(std::int64_t ms);

// As people write durations to the emulator: "90s", "1.5s", "10m", "1h30m". Fractions are of
// seconds. nullopt: none, or longer than ten years.
std::optional<std::chrono::milliseconds> ReadDuration(std::string_view text);
// "21600s", "0.5s" in milliseconds; nullopt for anything else. At most 10,000 years, as protobuf.
std::optional<std::int64_t> DurationMs(std::string_view text);
// "2026-11-22T01:02:03.5Z", "…+02:00" in milliseconds since the epoch.
std::optional<std::int64_t> TimestampMs(std::string_view text);

}  // namespace podctl::emulator
