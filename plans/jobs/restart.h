// Why a job ended before its time, and whether it is to be started again. Pure.
#pragma once

#include <optional>
#include <string>

#include "plans/spec/job_spec.h"

namespace podctl {

// What is known of the end of one start of a job.
struct JobEnd {
  // Of the worker that failed first, "research/3: killed by KILL"; a clause, for people.
  std::string what;
  bool lost = false;        // the connection to some worker broke, or could not be made any more
  bool killed = false;      // the first that failed was ended by a signal
  std::string stalled;      // why podctl ended it itself; empty: it did not
  bool node_gone = false;   // the service has no such node any more
  std::string node_state;   // "READY"; empty: the service was not asked, or gave no answer
  std::string node_health;  // "HEALTHY"
};

struct JobVerdict {
  RestartReason reason = RestartReason::kFailure;
  std::string because;  // a clause: "the node is PREEMPTED"
};

JobVerdict JudgeEnd(const JobEnd& end);

// Whether the node itself is in a trouble that ends jobs: what is looked for while one runs.
std::optional<JobVerdict> JudgeNode(const std::string& state, const std::string& health);

}  // namespace podctl
