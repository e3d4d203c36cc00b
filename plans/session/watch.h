// One round of a watch: a plan, and the part of it that the watch policy allows. It remembers what
// was reported, so that the same trouble is reported once; the listener decides how.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/executor.h"
#include "plans/session/apply.h"
#include "plans/session/plan.h"
#include "plans/session/pod_ends.h"
#include "plans/session/returning_jobs.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "providers/os/clock.h"
#include "state/state.h"

namespace podctl {

// ---- The rhythm of `podctl watch`: a round, a pause, a round, until it is asked to end. Knows
// nothing of what a round does.

enum class RoundEnd {
  kNothing,      // there was nothing to do
  kActed,        // something was done
  kBlocked,      // by what costs nothing to look at again: a broken spec, somebody else's lock
  kFailed,       // it will be tried again, after a longer pause each time
  kWrongUsage,   // no round can come to anything
  kInterrupted,  // the user asked to stop
};

class WatchRound {
 public:
  virtual ~WatchRound() = default;
  virtual RoundEnd Run() = 0;
  // Before each pause.
  virtual void OnPause(Clock::SystemTime until) = 0;
};

struct WatchIntervals {
  std::chrono::milliseconds interval{60'000};
  // After failures in a row the pause doubles up to this, or to the interval where that is longer.
  std::chrono::milliseconds longest{10 * 60'000};
  bool once = false;
};

// How the last round ended; kInterrupted also when `stop` came in a pause.
RoundEnd Watch(WatchRound& round, const WatchIntervals& pace, Clock& clock, Random& random,
               const std::stop_token& stop);

// ---- What `podctl watch` does of a plan: it makes pods anew that the service took away, where
// their `onPreemption` says so, with their bootstrap, and nothing else. Pure. The jobs that are
// started by themselves (due_jobs.h) come after it.

struct WatchedPlan {
  Plan plan;  // what is done, and the pods it builds on as Keep
  bool acts = false;
  // What is left to `podctl apply`, a clause for each address: "pod.a is PREEMPTED, and its
  // `onPreemption` is report".
  std::vector<std::string> left;
};

// `state` is the settled one.
WatchedPlan ApplyWatchPolicy(const Spec& spec, const State& state, const Plan& plan);

// How things stand between two rounds.
struct WatchStatus {
  std::size_t watched = 0;     // pods
  bool failed = false;         // the last look
  bool left = false;           // something, to `podctl apply`
  std::vector<Address> waits;  // in the queue
};

class WatchListener : public PlanListener {
 public:
  // No live line may stay on the screen: a round begins, has ended, or has carried something out.
  virtual void OnSettled() = 0;
  // Before each pause.
  virtual void OnPause(const WatchStatus& status, Clock::SystemTime until) = 0;
  // Whom it watches, when that has changed: those that are made anew when they are lost.
  virtual void OnSubject(const std::vector<Address>& recreated) = 0;
  virtual void OnNote(const std::string& note) = 0;
  virtual void OnLeft(const std::string& what) = 0;  // a clause: to `podctl apply`

  // --- What keeps it from acting, each when it is not what was told last.
  // `hopeless`: no round can come to anything. `warnings`: of the spec.
  virtual void OnNoPlan(const NoPlan& none, const Diagnostics& warnings, bool hopeless) = 0;
  virtual void OnUnsound(const Diagnostics& problems) = 0;  // of the plan
  virtual void OnNoAccess(const NoAccess& why) = 0;
  virtual void OnFailures(const ExecuteResult& result) = 0;
  virtual void OnSaveError(const ExecuteResult& result) = 0;
  virtual void OnOver() = 0;  // what was told last

  // --- What it does.
  virtual EventSink& events() = 0;
  virtual void OnExecuted(const ExecuteResult& result, bool acted) = 0;
  virtual void OnQueued(const Address& address) = 0;  // it waits from now on
  virtual void OnDone(const ExecuteResult& result) = 0;
  virtual void OnEnd(const PodEnd& end) = 0;              // before it is carried out
  virtual PodUse LookForUse(const std::string& pod) = 0;  // asks its workers
  // Starts the jobs of the spec that an apply of `run`, whose lock is free by now, would have
  // started (due_jobs.h), and tells of each. False: one of them was not.
  virtual bool StartJobs(const PlanRun& run, const ExecuteResult& result) = 0;
  // Looks at what is wanted on pods that are there, and brings back what is lost
  // (returning_jobs.h).
  virtual WantedLook LookAtJobs(const Spec& spec, const WantedJobs& wanted) = 0;
  // The second interrupt: the state is saved, its lock is free, and nobody waits for threads that
  // may hang in a call.
  virtual void OnLeave() = 0;
};

class WatchSession final : public WatchRound {
 public:
  // All are lent. Of `plan_request` the lock is asked for anew in each round.
  WatchSession(const PlanDoors& plan_doors, const ApplyDoors& apply_doors,
               const PlanRequest& plan_request, const ExecuteOptions& options,
               WatchListener& listener)
      : plan_doors_(plan_doors),
        apply_doors_(apply_doors),
        plan_wishes_(plan_request),
        options_(options),
        listener_(listener) {}

  RoundEnd Run() override;
  void OnPause(Clock::SystemTime until) override { listener_.OnPause(CurrentStatus(), until); }

  bool acted() const { return acted_; }  // in any round
  WatchStatus CurrentStatus() const {
    return {watched_, !reported_.empty(), !left_.empty(), waits_};
  }

 private:
  class Warnings;

  RoundEnd Look();
  RoundEnd OnNoPlan(const NoPlan& none, const Diagnostics& warnings);
  RoundEnd Act(PlanRun& run, WatchedPlan watched);
  bool IsWatched(const std::string& pod) const;
  RoundEnd LookAtJobs();
  RoundEnd EndPods();
  RoundEnd EndAll(const std::vector<PodEnd>& due);
  RoundEnd EndPod(const PodEnd& end);
  bool IsEndNews(const PodEnd& end, const std::string& trouble);
  RoundEnd Tell(const ExecuteResult& result, bool acts);
  RoundEnd Fine(RoundEnd end);
  void TellSubject(const Spec& spec);
  void TellLeft(const std::vector<std::string>& left);
  void TellQueued(const std::vector<Address>& queued);
  bool IsNews(const std::string& trouble);

  const PlanDoors& plan_doors_;
  const ApplyDoors& apply_doors_;
  const PlanRequest& plan_wishes_;
  const ExecuteOptions& options_;
  WatchListener& listener_;
  bool first_ = true;
  bool acted_ = false;
  std::size_t watched_ = 0;
  std::optional<std::vector<Address>> subject_;
  std::string reported_;  // the last trouble; empty: all is well
  std::string warned_;    // the last warnings
  std::set<std::string> left_;
  std::set<std::string> told_of_lock_;  // of locks taken over, and what dead runs could not save
  std::vector<Address> waits_;          // in the queue
  std::optional<Spec> spec_;            // of the last look, where something is wanted on its pods:
  WantedJobs wanted_;
  PodEnds ends_;
  std::map<std::string, std::string> end_troubles_;  // the last one, by pod
};

}  // namespace podctl
