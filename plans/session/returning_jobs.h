// Jobs that come back with their pod. Each start of one is a record in the state, written before
// the start by who found there what he had read; so two podctls never both begin one. It stays
// there until the job's end was seen. Whoever makes the pod anew, and every look of a watch, starts
// again what is wanted and does not run: at least once, since nobody can know of a start whose
// podctl died whether it came to that.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/executor.h"
#include "plans/fleet/run/supervise.h"
#include "plans/session/job_code.h"
#include "plans/session/known_pods.h"
#include "plans/session/plan.h"
#include "plans/spec/spec.h"
#include "providers/os/clock.h"
#include "state/store.h"

namespace podctl {

// Whether its detached starts are written down: `restart` names a reason for which nobody on its
// workers could start it again.
bool ComesBack(const JobSpec& job);
// Also where its workers have lost it and the pod is the same.
bool ReturnsOnItsPod(const JobSpec& job);
// nullptr: the spec has no job of that name there that comes back.
const JobSpec* FindReturningJob(const Spec& spec, const std::string& pod, const std::string& name);

// ---- The record of a start.

class WantedJobsEdit {
 public:
  struct Doors {
    std::function<std::unique_ptr<StateStore>()> open_store;
    LockRequest lock;
    Random& random;  // lent
    std::stop_token stop;
  };
  explicit WantedJobsEdit(Doors doors) : doors_(std::move(doors)) {}

  // Puts `after` in place of `before`, each nullopt where there is none. False: something else
  // stands there, and stays. kNotFound: the state has no such pod. Waits for the state's lock as
  // the request says.
  Result<bool> Swap(const std::string& pod, const std::string& job,
                    const std::optional<WantedJob>& before,
                    const std::optional<WantedJob>& after) const;
  // Takes off whatever stands there, and gives it; nullopt: nothing does. Errors as of Swap.
  Result<std::optional<WantedJob>> Forget(const std::string& pod, const std::string& job) const;

 private:
  using Change = std::function<bool(std::map<std::string, WantedJob>* jobs)>;
  // False: `change`, which is called with the lock held, wanted nothing to be saved.
  Result<bool> Edit(const std::string& pod, const Change& change) const;

  const Doors doors_;
};

// ---- One start.

// All of it is lent.
struct WantedStartDoors {
  DetachDoors detach;
  const WantedJobsEdit& edit;
  Clock& clock;
  CodeDoors code;
};

struct WantedStart {
  DetachReport report;             // empty where it did not come to that, because of:
  bool taken = false;              // somebody else, who was first
  bool forgotten = false;          // somebody took it off the state meanwhile: it was ended again
  std::optional<Error> error;      // the state, or the code
  std::optional<Error> left_open;  // it was started, and the state could not be told
};

// Starts a job that comes back. `before`: what the state has of it; nullopt: nothing. `again`: it
// is that start's next attempt, with the same code, and `request` is what Again makes of it; else
// a new start in its place. What could not be begun leaves the state as it was.
WantedStart StartWanted(const WantedStartDoors& doors, const Spec& spec, const JobSpec& job,
                        RunRequest request, const std::optional<WantedJob>& before, bool again,
                        const DetachHooks& hooks);

// Whether the pod's node is another by now than the one that it was started on.
bool IsOnAnother(const WantedJob& wanted, const PodRecord& record);
// Whether it was written down so lately that somebody may still be at its start.
bool IsRecent(const WantedJob& wanted, Clock::SystemTime now);

// How somebody would type the start that is wanted; its attempt is the one after it.
RunRequest Again(const WantedJob& wanted);

// ---- What is wanted, and what becomes of it.

using WantedJobs = std::map<std::string, std::map<std::string, WantedJob>>;  // by pod, and name
WantedJobs WantedJobsOf(const State& state);

struct ReturnNews {
  enum class What {
    kComesBack,     // it is started now, as number `attempt`, since `because`
    kStarted,       // that succeeded
    kNotStarted,    // `report`, or `error`
    kTaken,         // somebody else starts it
    kWaits,         // for workers that do not answer
    kNotForThat,    // `because` is no reason for which it is started again
    kUsedUp,        // its restarts
    kEnded,         // well
    kFailed,        // with `because`
    kEndedByHand,   // by `because`
    kNotInTheSpec,  // any more, or on another pod, or it does not come back any more
    kStateNotTold,  // `error`: the state could not be told
  };
  What what = What::kComesBack;
  std::string job;
  std::string pod;
  int attempt = 1;
  int attempts = 1;  // that there are at most
  std::string because = {};
  std::vector<int> workers = {};         // of kWaits; none: `error` says why
  int per_slice = 0;                     // of `workers`
  const DetachReport* report = nullptr;  // of kNotStarted; lent
  std::optional<Error> error = {};
};

// All of it is lent.
struct ReturnDoors {
  const KnownPods& pods;
  ssh::Transport& transport;
  FileSystem& files;
  Random& random;
  Clock& clock;
  ProcessRunner& processes;
  std::string scratch;
  StopTokens stops;
  const WantedJobsEdit& edit;

  CodeDoors Code(const Spec& spec) const {
    return {{files, *spec.withheld}, processes, scratch, stops.drain};
  }
};

// A new start of a job that comes back, in place of what the state has of it; `detach` for its pod.
// Somebody else's is an error.
WantedStart StartAnew(const ReturnDoors& doors, const DetachDoors& detach, const Spec& spec,
                      const JobSpec& job, const RunRequest& request, const DetachHooks& hooks);

class ReturnListener {
 public:
  virtual ~ReturnListener() = default;
  // Who sees the workers of the pod with this address being asked.
  virtual std::unique_ptr<RoundWatcher> WatchRounds(const std::string& address) = 0;
  // The same where they are only looked at.
  virtual std::unique_ptr<RoundWatcher> WatchLook(const std::string& address) = 0;
  virtual void OnPrepareEvent(const PrepareEvent& news) = 0;
  virtual void OnStart(const DetachedStart& start, const StartEvent& news) = 0;
  virtual void OnReturnNews(const ReturnNews& news) = 0;

  DetachHooks Hooks() {
    return {.on_event = [this](const PrepareEvent& news) { OnPrepareEvent(news); },
            .on_start = [this](const DetachedStart& start,
                               const StartEvent& news) { OnStart(start, news); }};
  }
};

// Pods of which a run has left something undone.
std::set<std::string> UnfinishedPods(const Spec& spec, const ExecuteResult& result);

// After a run that has made, replaced or started pods, whose lock is free: starts again what was
// wanted on them, as `wanted` has it from before the run, or takes it off the state where the spec
// does not have it started again for that. The names of the jobs that this was about are added to
// `seen`. False: one of them was not started.
bool BringBackAfterRun(const ReturnDoors& doors, const Spec& spec, const Plan& plan,
                       const ExecuteResult& result, const WantedJobs& wanted,
                       ReturnListener& listener, std::set<std::string>* seen);

// Whether what the plan does to the job's pod is among what it is started again for.
bool ReturnsAfter(const JobSpec& job, const Plan& plan);

enum class WantedLook {
  kNothing,      // was to be done on any worker
  kBroughtBack,  // some job was
  kFailed,       // some job was not, or the state could not be told of one
};
// One look at the workers on which something is wanted: what has ended is taken off the state, what
// is lost is started again.
WantedLook LookAtWanted(const ReturnDoors& doors, const Spec& spec, const WantedJobs& wanted,
                        ReturnListener& listener);

// ---- Pure: what a look means.

struct WantedSight {
  enum class Is {
    kRuns,         // as attempt `attempt`
    kEnded,        // everywhere: with `exit_code`, and perhaps by `who`
    kLost,         // by `lost`, and none of it can go on
    kBeingStarted  // somebody has said so a moment ago
  };
  Is is = Is::kRuns;
  int attempt = 1;
  std::string start = {};  // of kRuns: the end of the name of the run that runs
  int exit_code = 0;
  std::string who = {};
  std::vector<int> lost = {};  // workers
  bool rest = false;           // of kLost: on others it has not ended
};
// `found`: what all of its workers say of the job. `recent`: its start was written down a moment
// ago.
WantedSight JudgeWanted(const WantedJob& wanted, const std::string& job,
                        const std::vector<WorkerJobs>& found, bool recent);

}  // namespace podctl
