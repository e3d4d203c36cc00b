// What plan, apply and destroy do before anything is changed: load the spec, read the state, ask
// the API, and make the plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/wiring.h"
#include "plans/change.h"
#include "plans/planner.h"
#include "plans/refresh.h"
#include "plans/spec/spec.h"
#include "state/store.h"

namespace podctl {

struct PlanRun {
  Spec spec;
  Provider* provider = nullptr;
  std::unique_ptr<StateStore> store;
  std::unique_ptr<StateLock> lock;  // only when asked for
  State stored;                     // as read; of PreparePlan only with `keep_stored` the whole
  Generation generation;            // of `stored`
  State settled;                    // brought up to what the API says
  Observation observation;
  Plan plan;
  // What speaks against the plan, or is to be said of it; shown after it (ShowProblems). A plan
  // with errors may be looked at, but neither saved nor carried out.
  Diagnostics problems;
  std::vector<std::string> notes;
};

struct PlanRunOptions {
  std::string operation;  // "plan", "apply", "destroy": for the lock
  PlanOptions plan;
  bool lock = false;
  bool will_enter = false;  // the workers of what is planned, see UseOsLogin
  // The state as read is looked at afterwards. Else its records are not copied, which takes a while
  // when they are thousands; lineage, serial and key are kept.
  bool keep_stored = false;
};

// What kept a plan from being made.
enum class NoPlan {
  kSpec,         // it cannot be read, or is wrong
  kUsage,        // a flag or a variable of the environment is wrong
  kLock,         // somebody else holds it
  kElse,         // the state, the API, a key
  kInterrupted,  // by the user
};

// Shows itself why there is no plan, and tells `why` (may be nullptr);
// nullopt: exit with FailedExitCode. What is said of the plan is left in `problems`.
std::optional<PlanRun> PreparePlan(Wiring& wiring, const PlanRunOptions& options,
                                   NoPlan* why = nullptr);

// What lets us in where the plan leads, a key and a user name: made and published only now that the
// plan is approved. Shows why it cannot be; false.
bool PrepareToEnter(Wiring& wiring, Plan* plan);
// For an apply that has nothing to do: where OS Login was turned on since the last one, the state
// is to hold a user name all the same. Says why there is none.
void NameOsLoginUsers(Wiring& wiring, Plan* plan);

void ShowProblems(Wiring& wiring, const PlanRun& run);
// Diagnostics of a place in the spec, with the text of that line read from the file.
Diagnostics WithSourceLines(FileSystem& files, const Diagnostics& diagnostics);

}  // namespace podctl
