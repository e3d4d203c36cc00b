// Decides: spec × state × what the world says now → Plan. Pure: no clock, no network, no files.
// Asks each kind for verdicts, and knows none.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "state/address.h"
#include "state/state.h"

namespace podctl {

// ---- What a plan is asked to be: its mode, what it is narrowed to, and where its state is.

// Where this run looked for the state, and how its commands are spelled; for hints.
struct StatePlace {
  std::string path;   // empty: not known here
  std::string flags;  // what has to stand behind `podctl import`, for a shell: " -f team-a"
  std::string kept;   // HistoryHint of what is kept beside a state that is gone
};

struct PlanOptions {
  PlanMode mode = PlanMode::kNormal;
  // Addresses: only these with their parts, and what they depend on. Empty: everything.
  std::vector<std::string> targets;
  // Things to make anew although they are as wanted, and steps to run again on all their workers.
  std::vector<std::string> replace;
  bool refresh = true;  // false: the observation was made from the state
  // Of things that moved: the address now -> what the stored state calls it (MoveThings).
  std::map<Address, Address> moved;
  StatePlace state_place = {};
  // Another run that is changing things meanwhile, in words: "alice@host (apply, process 77)".
  // Empty: there is none, and what was begun and is not done an earlier run began.
  std::string at_work = {};
  // RFC 3339. Empty: not known, and whatever earlier runs have begun is old.
  std::string now = {};

  const std::string& BegunBy() const {
    static const std::string kEarlier = "an earlier run";
    return at_work.empty() ? kEarlier : at_work;
  }
};

// `state` is the settled one (Settle). What makes the plan impossible (a node of that name is there
// that podctl did not make, a pod protected by preventDestroy would go) is an error in
// `diagnostics`.
Plan MakePlan(const Spec& spec, const State& state, const Observation& observation,
              const PlanOptions& options, Kinds kinds, Diagnostics& diagnostics);

}  // namespace podctl
