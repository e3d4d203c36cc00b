// Tells from the steps that the workers of a job report whether it still goes on, by the rules of
// xla_dist: when all have done the same number of steps they may be busy for long; when some are
// ahead of others, somebody is stuck. Knows no clock: who asks says what time it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace podctl {

// What PyTorch/XLA writes after each step where XLA_EMIT_STEPLOG is set.
inline constexpr std::string_view kStepLine = "torch_xla.core.xla_model::mark_step";

class Heartbeat {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Limits {
    std::chrono::seconds uneven{900};
    std::chrono::seconds even{1800};
  };

  // XLA_UNEVEN_HEARTBEAT_TIMEOUT and XLA_EVEN_HEARTBEAT_TIMEOUT of the job's variables, in seconds.
  static Limits LimitsOf(const std::map<std::string, std::string>& env);

  Heartbeat(std::size_t workers, Limits limits) : steps_(workers, 0), limits_(limits) {}

  void OnStep(std::size_t worker, Time now);
  // A clause: why it does not go on; empty: it does, or no step was done yet.
  std::string WhyStalled(Time now) const;

 private:
  std::vector<std::uint64_t> steps_;
  Limits limits_;
  Time last_{};
  bool begun_ = false;
};

}  // namespace podctl
