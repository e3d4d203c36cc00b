// Why a job ended before its time, and whether it is to be started again. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/spec/job_spec.h"

namespace podctl {

// What is known of the end of one start of a job.
struct JobEnd {
  // Of the worker that failed first, "research/3: killed by KILL"; a clause, for people.
  std::string what;
  bool lost = false;    // the connection to some worker broke, or could not be made any more
  bool killed = false;  // the first that failed was ended by a signal
  std::optional<RestartReason> told;  // why that one failed, where a gang has said so
  std::string stalled;                // why podctl ended it itself; empty: it did not
  bool hung = false;                  // since nobody wrote, and not since no step was done
  bool node_gone = false;             // the service has no such node any more
  std::string node_state;   // "READY"; empty: the service was not asked, or gave no answer
  std::string node_health;  // "HEALTHY"
};

struct JobVerdict {
  RestartReason reason = RestartReason::kFailure;
  std::string because;  // a clause: "the node is PREEMPTED"
  // Where that is the node's doing, its state, or its health where that says more; "GONE": the
  // service has no such node. Empty: it is not.
  std::string node = {};
};

JobVerdict JudgeEnd(const JobEnd& end);
JobVerdict NodeIsGone();

// Whether the node itself is in a trouble that ends jobs: what is looked for while one runs.
std::optional<JobVerdict> JudgeNode(const std::string& state, const std::string& health);

// ---- Tells from the steps that the workers of a job report whether it still goes on, by the rules
// of xla_dist: when all have done the same number of steps they may be busy for long; when some are
// ahead of others, somebody is stuck. Knows no clock: who asks says what time it is.

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
