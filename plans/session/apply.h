// Carries a plan out: the approval, SSH access, and the execution. The listener shows it, and asks
// the user.
#pragma once

#include <optional>
#include <stop_token>

#include "plans/engine/executor.h"
#include "plans/session/access.h"
#include "plans/session/plan.h"
#include "providers/bootstrap/step_runner.h"
#include "providers/os/clock.h"

namespace podctl {

struct ApplyDoors {
  AccessDoors entry;
  StepRunner& steps;
  Clock& clock;
  Random& random;
  std::stop_token drain;
  std::stop_token leave;
};

class ApplyListener {
 public:
  virtual ~ApplyListener() = default;
  // Before anything is changed; false: it is not to be.
  virtual bool Approve(const PlanRun& run) = 0;
  // There is nothing to do, and yet nobody could be named who will be let in.
  virtual void OnNoLogin(const Error& why) = 0;
  // It begins; whom its events are for.
  virtual EventSink& OnBegin() = 0;
};

struct ApplyEnd {
  enum class How {
    kNothing,   // there was nothing to do; what an earlier run left is settled and saved
    kDeclined,  // by the listener
    kNoAccess,  // `no_access` says why
    kDone,
  };
  How how = How::kDone;
  std::optional<NoAccess> no_access = {};
  ExecuteResult result = {};
};

// Carries out the plan of `run`, which has no errors, and whose lock is held.
ApplyEnd Apply(const ApplyDoors& doors, const ExecuteOptions& options, ApplyListener& listener,
               PlanRun* run);

// The same of another plan that was made from it.
ExecuteResult Execute(const ApplyDoors& doors, const ExecuteOptions& options, const Plan& plan,
                      EventSink& events, PlanRun* run);

}  // namespace podctl
