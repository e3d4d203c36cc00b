// What a plan is asked to be: its mode, what it is narrowed to, and where its state is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "state/address.h"

namespace podctl {

// Where this run looked for the state, and how its commands are spelled; for hints.
struct StatePlace {
  std::string path;   // empty: not known here
  std::string flags;  // what has to stand behind `podctl import`, for a shell: " -f team-a"
  std::string kept;   // KeptWords of what is kept beside a state that is gone
};

struct PlanOptions {
  PlanMode mode = PlanMode::kNormal;
  // Addresses: only these with their parts, and what they depend on. Empty: everything.
  std::vector<std::string> targets;
  // Things to make anew although they are as wanted, and steps to run again on all their workers.
  std::vector<std::string> replace;
  bool refresh = true;  // false: the observation was made from the state
  // Of things that moved: the address now -> what the stored state calls it (moves.h).
  std::map<Address, Address> moved;
  StatePlace state_place = {};
};

}  // namespace podctl
