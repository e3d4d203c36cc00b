// Carries a plan out: one loop that owns the state, tasks that ask, threads that call.
//
// One failure never stops what does not depend on it. An interrupt is an input of the loop.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/event.h"
#include "plans/engine/kind.h"
#include "providers/bootstrap/step_runner.h"
#include "providers/os/clock.h"
#include "providers/provider.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

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
  // The first failure to save; nothing was begun after it, what was under way was still awaited.
  std::optional<Error> save_error;
  // The last save failed too, so that the stored state lacks what this run did. Then it was written
  // to `saved_aside`, for `podctl state push`; empty when even that failed, as `aside_error` says.
  bool unsaved = false;
  std::string saved_aside;
  std::optional<Error> aside_error;
  std::vector<std::string> warnings;  // of the store

  // Also false where something was not begun that nothing stood in the way of.
  bool ok() const {
    return failures.empty() && !interrupted && !save_error &&
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

}  // namespace podctl
