// Moves a state from one place to another, whatever keeps it there. Each step
// leaves the two places such that the move can be ended or called off by anybody who can reach
// both, and that runs go on in one of them at most (state/state_move.h).
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "plans/session/plan.h"
#include "providers/base/error.h"
#include "providers/os/clock.h"
#include "state/store.h"

namespace podctl {

// By what the two places call each other, which must be the same on every machine that can reach
// both: a URL, or a whole path.
struct MovePlace {
  StateStore& store;
  std::string name;
};

enum class MoveHow { kBegin, kResume, kAbort };

struct MoveEnd {
  bool moved = false;      // false: it was called off, and stays where it was
  bool was_moved = false;  // by an earlier run; there was nothing left to do
  std::string lineage;
  std::uint64_t serial = 0;
  std::size_t records = 0;
  std::vector<std::string> warnings;  // of the stores
  std::string not_reached;  // why the other place could not be asked when the move was called off
};

struct MoveDoors {
  Clock& clock;
  LockRequest lock;
  std::stop_token stop;
  std::string who;
  std::function<void(const std::string&)> on_takeover;  // of a dead run's lock
};

// Takes the lock of both. Errors name the place; after each the state is whole in one place or on
// its way, and every run refuses both until the move is ended or called off.
Result<MoveEnd> MoveState(const MoveDoors& doors, const MovePlace& from, const MovePlace& to,
                          MoveHow how);

}  // namespace podctl
