// What became of one record between two states: the unit in which a run tells a store what it did.
#pragma once

#include <optional>
#include <vector>

#include "state/address.h"
#include "state/any_record.h"
#include "state/state.h"

namespace podctl {

struct RecordChange {
  Address address;
  std::optional<AnyRecord> before;  // nullopt: there was none
  std::optional<AnyRecord> after;   // nullopt: there is none any more
};

// In the order of addresses. Records that the states share cost a comparison of pointers.
std::vector<RecordChange> ChangesBetween(const State& before, const State& after);

// Makes of the state that `changes` lead from the one that they lead to.
void Apply(const std::vector<RecordChange>& changes, State* state);

}  // namespace podctl
