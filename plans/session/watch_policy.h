// What `podctl watch` does of a plan: it makes pods anew that the service took away, where their
// `onPreemption` says so, with their bootstrap, and nothing else. Pure.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/spec/spec.h"
#include "state/state.h"

namespace podctl {

struct WatchedPlan {
  Plan plan;  // what is done, and the pods it builds on as Keep
  bool acts = false;
  // What is left to `podctl apply`, a clause for each address: "pod.a is PREEMPTED, and its
  // `onPreemption` is report".
  std::vector<std::string> left;
};

// `state` is the settled one.
WatchedPlan ApplyWatchPolicy(const Spec& spec, const State& state, const Plan& plan);

}  // namespace podctl
