#include "providers/os/clock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <time.h>

#include <condition_variable>
#include <mutex>
#include <random>

namespace podctl {
namespace {

std::mt19937_64& Engine() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return engine;
}

}  // namespace

Clock::SystemTime RealClock::Now() {
  return std::chrono::system_clock::now();
}
Clock::SteadyTime RealClock::Steady() {
  return std::chrono::steady_clock::now();
}

Clock::SteadyTime RealClock::SinceBoot() {
  timespec now{};
  // Linux has had it since 2.6.39; a system without it has no suspend that would matter.
  if (::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return Steady();
  return SteadyTime(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

bool RealClock::SleepFor(std::chrono::milliseconds duration, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

double RealRandom::Uniform() {
  return std::uniform_real_distribution<double>(0, 1)(Engine());
}

std::string RealRandom::Uuid() {
  std::random_device device;  // not the seeded engine: lineages must not repeat across machines
  const std::uint64_t high = (static_cast<std::uint64_t>(device()) << 32) | device();
  const std::uint64_t low = (static_cast<std::uint64_t>(device()) << 32) | device();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF,
                     high & 0xFFF, 8 + ((low >> 62) & 3), (low >> 48) & 0xFFF,
                     low & 0xFFFFFFFFFFFFULL);
}

std::string FormatTimestamp(Clock::SystemTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

}  // namespace podctl
