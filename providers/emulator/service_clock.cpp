#include "providers/emulator/service_clock.h"

#include <fmt/format.h>

#include <ctime>

namespace podctl::emulator {

std::int64_t ServiceClock::NowMs() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
             .count() +
         skipped_ms_;
}

std::string ServiceClock::Timestamp() const {
  const auto now = std::chrono::system_clock::now().time_since_epoch() +
                   std::chrono::milliseconds(skipped_ms_.load());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
  const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(now - seconds);
  const std::time_t time = seconds.count();
  std::tm utc{};
  gmtime_r(&time, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     nanos.count());
}

}  // namespace podctl::emulator
