// One start of a job on its workers: all are made ready, then all start at once; their lines are
// shown as they come, and when one fails, the others, which wait for it for ever, are ended too.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cmd/commands/exec/summary.h"
#include "cmd/wiring.h"
#include "plans/jobs/heartbeat.h"
#include "plans/jobs/restart.h"
#include "providers/workers/runs.h"

namespace podctl {

struct AttemptPlan {
  workers::Run run;
  std::vector<WorkerAccess> workers;
  std::vector<std::string> texts;  // of each worker: POSIX shell, what it runs
  std::string setup;               // of all: what is done before the start
  // Workers that belong together: when one fails the rest is ended. Else each goes on to its end.
  bool together = true;
  std::optional<Heartbeat::Limits> heartbeat;  // steps are counted, and not shown
  // Asked now and then on a thread of its own while the job runs: why it must end; may be empty.
  std::function<std::optional<JobVerdict>(std::stop_token)> look;
};

struct AttemptResult {
  ExecOutcome outcome;
  bool started = false;                      // else some worker could not be made ready
  std::optional<std::size_t> first;          // the job (index) that was the first not to end well
  std::chrono::milliseconds first_after{0};  // from the start, when `started`
  std::chrono::milliseconds elapsed{0};      // of all of it
  std::optional<JobVerdict> told;            // by `look`
  std::string stalled;                       // by the heartbeat
  std::string ended_by;  // who ended it from elsewhere, as the workers tell; empty: nobody
};

AttemptResult RunAttempt(Wiring& wiring, const std::string& address, const AttemptPlan& plan);

}  // namespace podctl
