// What earlier runs left on the TPU of a pod's workers: finds it, and ends it. Shows nothing and
// asks nobody's leave: between the two somebody has to approve.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "plans/fleet/worker_round.h"
#include "providers/workers/drain.h"
#include "providers/workers/probe.h"

namespace podctl {

// One worker that has something to drain.
struct Leftover {
  WorkerAccess worker;
  std::vector<workers::Holder> victims;
  bool lock_file = false;  // libtpu's, which is nobody's
};

struct DrainSurvey {
  std::vector<Leftover> leftovers;
  std::vector<WorkerAnswer> answers;  // of all who were asked

  bool Whole() const { return AllAnswered(answers); }
};

// With `with_jobs` the jobs of podctl are to be ended too.
DrainSurvey SurveyLeftovers(WorkerRounds& rounds, const std::vector<WorkerAccess>& chosen,
                            bool with_jobs);

struct DrainOutcome {
  std::vector<WorkerAnswer> answers;                         // for each of the leftovers
  std::vector<std::optional<workers::DrainReport>> reports;  // nullopt: it is not known
  bool something_left = false;  // of what was to be ended, or nobody knows
};

// Of each process: TERM, at most `grace` of wait, KILL.
DrainOutcome EndLeftovers(WorkerRounds& rounds, const std::vector<Leftover>& leftovers,
                          std::chrono::seconds grace);

}  // namespace podctl
