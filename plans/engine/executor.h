// Carries a plan out: one loop that owns the state, tasks that ask, threads that call.
//
// One failure never stops what does not depend on it. An interrupt is an input of the loop.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "providers/base/error.h"
#include "providers/bootstrap/step_runner.h"
#include "providers/os/clock.h"
#include "providers/provider.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

// ---- What happens while a plan is carried out, for whoever shows it.
//
// Events are delivered on the thread that called Execute, in order. Of values (IsValue, kind.h)
// nothing is told: they are shown when all is done.

struct Progress {
  std::size_t workers = 0;  // of a step; 0 for a pod
  std::size_t workers_ok = 0;
  std::size_t workers_failed = 0;
  std::size_t workers_retrying = 0;
  std::string status;  // of a pod: what is waited for, "WAITING_FOR_RESOURCES"; may be empty
  std::string why_retrying = {};  // of a step: the most frequent cause; may be empty
};

class EventSink {
 public:
  using Elapsed = std::chrono::milliseconds;

  virtual ~EventSink() = default;
  virtual void OnStart(const Change& change) = 0;
  // Now and then while a change is under way (about every 10 s), and at each change of `progress`.
  virtual void OnProgress(const Change& change, Elapsed elapsed, const Progress& progress) = 0;
  virtual void OnComplete(const Change& change, Elapsed elapsed, const std::string& id) = 0;
  virtual void OnError(const Change& change, Elapsed elapsed, const Error& error) = 0;
  // Never started: it depends, directly or not, on `cause` (an address), which failed; or, with an
  // empty `cause`, the run ended early, after an interrupt or because the state cannot be saved.
  virtual void OnSkip(const Change& change, const Address& cause) = 0;
  // A line of a worker's output; `label` is how people call the worker: "research/3".
  virtual void OnStepLine(const Change& change, int worker, const std::string& label,
                          std::string_view line) = 0;
  // A remark for the user about an address.
  virtual void OnNote(const Address& address, const std::string& text) = 0;
  // The first interrupt came: nothing new is started, and the run ends within seconds.
  virtual void OnInterrupt() {}
  // Called at this pace while the executor waits, for live displays; zero: never.
  virtual std::chrono::milliseconds TickInterval() const { return std::chrono::milliseconds(0); }
  virtual void OnTick() {}
};

struct ExecuteOptions {
  // API calls at once. 0: no threads at all, calls and steps are made one after the other in an
  // order that `Doors::random` chooses, so that a simulation can be repeated.
  int parallelism = 10;
  // How long one create, patch or delete may take before this run stops waiting for it.
  std::chrono::milliseconds operation_timeout{30 * 60'000};
  // false: a request that is in the queue is left there, for a later run to take up.
  bool wait_for_capacity = true;
  // After the first interrupt: how long answers to requests already sent are waited for.
  std::chrono::milliseconds drain_limit{3'000};
};

struct ExecuteResult {
  struct Failure {
    Change change;
    Error error;
    std::vector<std::string> last_lines;
  };
  struct Skip {
    Address address;
    // The address whose failure is the root of it, or empty: the run ended early.
    Address cause;
  };
  std::size_t added = 0;
  std::size_t changed = 0;
  std::size_t destroyed = 0;
  std::size_t steps = 0;
  // Pods that had been taken away and are whole again, whichever run made their nodes.
  std::size_t recovered = 0;
  std::vector<Failure> failures;
  std::vector<Skip> skipped;
  // Begun and left to the next run; their operations are in the state.
  std::vector<Address> unfinished;
  // Of these the steps that were asked to end, and what the workers said of it.
  struct Stop {
    Address address;
    std::string outcome;  // "failed on 4 of 4 workers: workers 0-3: cancelled; ended"
  };
  std::vector<Stop> stopped;
  // Asked for and left in the queue, as the options say; and what waits for that.
  std::vector<Address> queued;
  std::vector<Address> behind_queued;
  bool interrupted = false;
  // The first failure to save. After it nothing was begun, but the run waited for what was under
  // way. None where everything was saved in the end: then `outage` has it where something was left
  // undone, else `warnings` tell of it.
  std::optional<Error> save_error;
  std::optional<Error> outage;
  bool lock_failed = false;  // it is of the state's lock, which could not be kept
  // The last save failed too, so that the stored state lacks what this run did. Then it was written
  // to `saved_aside`, for `podctl state push`; empty when even that failed, as `aside_error` says.
  bool unsaved = false;
  std::string saved_aside;
  std::optional<Error> aside_error;
  std::vector<std::string> warnings;  // of the store, and of an outage that is over

  // Also false where something was not begun although nothing prevented it.
  bool ok() const {
    return failures.empty() && !interrupted && !save_error && unfinished.empty() &&
           std::none_of(skipped.begin(), skipped.end(),
                        [](const Skip& skip) { return skip.cause.empty(); });
  }
};

struct Doors {
  Provider& provider;
  StepRunner& steps;
  StateStore& store;
  Clock& clock;
  Random& random;
  Generation& generation;  // what `state` was loaded as; moves on with each save
  Kinds kinds;
};

// `state` is the settled one; afterwards it is what was saved last. The store's lock must be held.
// `drain`: the first interrupt (start nothing new, save, end within seconds). `leave`: the second
// (save what is known and return without waiting for anybody).
ExecuteResult Execute(const Plan& plan, State& state, const Observation& observation,
                      const Doors& doors, const ExecuteOptions& options, EventSink& events,
                      std::stop_token drain, const std::stop_token& leave);

// ---- When the executor may save again: often enough that little is lost, seldom enough that
// saving takes no more than about a tenth of the time, so that what is written grows with the
// number of changes and not with its square.
//
// Not thread safe. Knows no store.

class SaveThrottle {
 public:
  using Milliseconds = std::chrono::milliseconds;

  SaveThrottle() = default;
  // `least`: between a save and one for results that nobody waits for.
  explicit SaveThrottle(Milliseconds least)
      : results_together_(std::max(least, kResultsTogether)) {}

  void Saved(Clock::SteadyTime began, Clock::SteadyTime ended) {
    saved_ = true;
    ended_ = ended;
    rest_ = 10 * std::chrono::duration_cast<Milliseconds>(ended - began);
  }

  // From when on a save for requests that wait for it is due. Requests that come a moment after one
  // another share a save; none waits longer than the limit.
  Clock::SteadyTime ForActs() const {
    return saved_ ? ended_ + std::clamp(rest_, kActsTogether, kLongestHold) : ended_;
  }
  // The same for results that nobody waits for.
  Clock::SteadyTime ForResults() const {
    return saved_ ? ended_ + std::max(rest_, results_together_) : ended_;
  }

 private:
  static constexpr Milliseconds kActsTogether{20};
  static constexpr Milliseconds kLongestHold{2'000};
  static constexpr Milliseconds kResultsTogether{250};

  Milliseconds results_together_ = kResultsTogether;
  bool saved_ = false;
  Clock::SteadyTime ended_{};
  Milliseconds rest_{0};
};

}  // namespace podctl
