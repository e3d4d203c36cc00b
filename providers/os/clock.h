// The door to time and to chance. Everything that waits, stamps or jitters takes a Clock& or a
// Random&, so that tests run on a fake and never sleep.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

namespace podctl {

class Clock {
 public:
  using SystemTime = std::chrono::system_clock::time_point;
  using SteadyTime = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  virtual SystemTime Now() = 0;     // the calendar; may jump
  virtual SteadyTime Steady() = 0;  // for intervals; never goes back
  // As Steady, but it goes on while the machine is suspended (CLOCK_BOOTTIME), so that who wakes up
  // learns how long it slept. Compared with other readings of this method only.
  virtual SteadyTime SinceBoot() { return Steady(); }
  // Sleeps; returns false as soon as `stop` is requested. Thread safe.
  virtual bool SleepFor(std::chrono::milliseconds duration, std::stop_token stop) = 0;
};

class Random {
 public:
  virtual ~Random() = default;
  virtual double Uniform() = 0;    // in [0, 1); thread safe
  virtual std::string Uuid() = 0;  // RFC 9562 version 4, lower case; thread safe
};

class RealClock final : public Clock {
 public:
  SystemTime Now() override;
  SteadyTime Steady() override;
  SteadyTime SinceBoot() override;
  bool SleepFor(std::chrono::milliseconds duration, std::stop_token stop) override;
};

class RealRandom final : public Random {
 public:
  double Uniform() override;
  std::string Uuid() override;
};

// RFC 3339 in UTC with seconds: "2026-11-20T14:29:43Z".
std::string FormatTimestamp(Clock::SystemTime time);

}  // namespace podctl
