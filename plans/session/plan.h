// From a spec and a state to a plan: what plan, apply, destroy and watch do before anything is
// changed. Says nothing and asks nobody but the API.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/planner.h"
#include "plans/kinds/pod/record.h"
#include "plans/session/access.h"
#include "plans/session/spool.h"
#include "plans/spec/loader.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "providers/os/clock.h"
#include "providers/provider.h"
#include "providers/secrets.h"
#include "providers/zone_lookup.h"
#include "state/store.h"

namespace podctl {

// Where the state is.
struct StateChoice {
  std::string likely;  // unless the spec says otherwise
  bool given = false;  // whatever the spec says

  const std::string& For(const Spec& spec) const {
    return given || spec.state.empty() ? likely : spec.state;
  }
};

// What is pointed to or referred to is lent.
struct PlanDoors {
  AccessDoors entry;
  Result<Provider*> provider;  // an error where the endpoint is none; told once the lock is held
  std::function<std::unique_ptr<StateStore>(const std::string& path)> open_store;
  std::stop_token stop;
  Result<Secrets*> secrets;  // likewise; told where the spec names one
  SpoolDoors spool;
  Clock& clock;
  ZoneLookup* catalogue = nullptr;  // of the provider; nullptr: nobody is asked
};

struct LockRequest {
  std::function<LockInfo()> info;
  LockWait wait;
};

struct PlanRequest {
  LoadOptions load;
  StateChoice state;
  std::string flags;     // by which another command finds the same spec and state
  int parallelism = 10;  // calls at once
  PlanOptions plan;
  std::optional<LockRequest> lock;  // of who will change something
  bool will_log_in = false;         // the workers of what is planned, see UseOsLogin
  // Whether it matters what the zones have (catalogue_check.h), and what the spec's `maxCost` is:
  // not to who makes anew what is lost already.
  bool checks_catalogue = true;
  // The state as read is looked at afterwards. Else its records are not copied, which takes a while
  // when they are thousands; lineage, serial and key are kept.
  bool keep_stored = false;
  // Changes what the spec was read as, before a plan is made of it; empty: nothing does.
  std::function<void(Spec* spec)> edit = {};
};

class PlanListener {
 public:
  virtual ~PlanListener() = default;
  // Of a spec that is usable: its warnings, before anything else is done.
  virtual void OnSpec(const Diagnostics& warnings) = 0;
  // A dead run's lock was taken over, or what it could not save was saved.
  virtual void OnTakeover(const std::string& note) = 0;
};

struct PlanRun {
  Kinds kinds;
  Spec spec;
  Provider* provider = nullptr;
  std::unique_ptr<StateStore> store;
  std::unique_ptr<StateLock> lock;  // only when asked for
  State stored;                     // as read; of PreparePlan only with `keep_stored` the whole
  Generation generation;            // of `stored`
  std::optional<LockInfo> at_work;  // another run that changes it; only where no lock was asked for
  State settled;                    // brought up to what the API says
  Observation observation;
  Plan plan;
  // What speaks against the plan, or is to be said of it, after it. A plan with errors may be
  // looked at, but neither saved nor carried out.
  Diagnostics problems;
  std::vector<std::string> notes;
  // What is to come back on which pod (returning_jobs.h), as the state had it before the plan.
  std::map<std::string, std::map<std::string, WantedJob>> wanted;
  std::vector<std::string> jobs;  // what the plan means for those of the spec (due_jobs.h)
  std::string saved_digest;       // of the plan that a file holds, as it was read; else empty
  // Pods whose creation, or deletion, an earlier run began, and this one found to be complete.
  std::size_t came = 0;
  std::size_t went = 0;
};

// Why there is no plan.
struct NoPlan {
  enum class Why {
    kSpec,         // it cannot be read, or is wrong
    kUsage,        // a flag or a variable of the environment is wrong
    kLock,         // somebody else holds it
    kElse,         // the state, the API, a key
    kInterrupted,  // by the user
  };
  Why why = Why::kElse;
  Diagnostics problems = {};        // of the spec
  std::optional<Error> error = {};  // what else
  std::string summary = {};         // of the error; empty: it has none of its own
  bool waited_for_lock = false;     // when it was interrupted
};

// What is said of the plan is left in `problems`. Waits for the lock and for the API; the listener
// is called on the caller's thread.
std::variant<PlanRun, NoPlan> PreparePlan(const PlanDoors& doors, const PlanRequest& request,
                                          PlanListener& listener);

// Takes the lock for `run`, whose store is open, and saves what an earlier run here could not.
// nullopt: it has it.
std::optional<NoPlan> TakeLock(const PlanDoors& doors, const PlanRequest& request,
                               PlanListener& listener, PlanRun* run);

// By which the plan that was reviewed is known again (plan_digest.h).
std::string DigestOf(const PlanRun& run);

// Diagnostics of a place in the spec, with the text of that line read from the file.
Diagnostics WithSourceLines(FileSystem& files, const Diagnostics& diagnostics);

}  // namespace podctl
