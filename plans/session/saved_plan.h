// A plan that is kept in a file, and what its apply does before anything is changed: it takes the
// lock, refuses a plan that is stale or was altered, and brings back what a file must not hold.
#pragma once

#include <string>
#include <variant>

#include "plans/engine/plan_file.h"
#include "plans/session/plan.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"

namespace podctl {

struct SavePlanRequest {
  LoadOptions load;  // by which the spec was read
  StateChoice state;
  std::string endpoint;  // of the API that was asked
  std::string version;   // of podctl
};

// As it would be kept, without a seal: for who wants to read it now.
SavedPlan PlanAsSaved(const PlanRun& run, const SavePlanRequest& request, Clock& clock,
                      Random& random);

// Keeps the plan in `path`, which is created or was a saved plan before.
Result<void> SavePlan(const PlanRun& run, const std::string& path, const SavePlanRequest& request,
                      FileSystem& files, Clock& clock, Random& random);

// The state that its apply writes.
std::string StateOf(FileSystem& files, const StateChoice& choice, const SavedPlan& saved);

// Where its relative paths start: the folder in which it was made, if its spec is there; empty: the
// current one.
std::string StartOf(FileSystem& files, const SavedPlan& saved);

// Whether a plan is as the state that it was made from has sealed it; kStalePlan: it is not.
enum class Seal {
  kNone,         // there was no state
  kNotLookedAt,  // its state is not here
  kSound,
};
Result<Seal> CheckSeal(const SavedPlan& saved, StateStore& store);

struct SavedPlanRequest {
  std::string file;
  std::string foreign_flag;  // one that says what the plan says already; empty: there is none
  std::string endpoint;      // of the API that this run asks
  PlanRequest plan;          // with a lock; what it wants of a plan does not matter
};

// What speaks against it is an error under a summary. Of an edited spec the listener hears.
std::variant<PlanRun, NoPlan> PrepareSavedPlan(const PlanDoors& doors,
                                               const SavedPlanRequest& request,
                                               PlanListener& listener);

}  // namespace podctl
