#include "state/record_change.h"

namespace podctl {

std::vector<RecordChange> ChangesBetween(const State& before, const State& after) {
  std::vector<RecordChange> changes;
  auto old = before.records.begin();
  auto now = after.records.begin();
  while (old != before.records.end() || now != after.records.end()) {
    const bool only_now =
        old == before.records.end() || (now != after.records.end() && now->first < old->first);
    const bool only_old = !only_now && (now == after.records.end() || old->first < now->first);
    if (only_now) {
      changes.push_back({now->first, std::nullopt, now->second});
    } else if (only_old) {
      changes.push_back({old->first, old->second, std::nullopt});
    } else if (!(old->second == now->second)) {
      changes.push_back({now->first, old->second, now->second});
    }
    if (!only_now) ++old;
    if (!only_old) ++now;
  }
  return changes;
}

void Apply(const std::vector<RecordChange>& changes, State* state) {
  for (const RecordChange& change : changes) {
    if (change.after) {
      state->records.insert_or_assign(change.address, *change.after);
    } else {
      state->records.erase(change.address);
    }
  }
}

}  // namespace podctl
