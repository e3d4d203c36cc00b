#include "plans/engine/change.h"

#include <algorithm>

#include "plans/engine/kind.h"

namespace podctl {

bool IsKeep(const Change& change) {
  return change.verb == Verb::kKeep;
}

bool IsReplace(const Change& change) {
  return change.verb == Verb::kDeleteThenCreate || change.verb == Verb::kCreateThenDelete;
}

bool IsDelete(const Change& change) {
  return change.verb == Verb::kDelete || change.verb == Verb::kForget;
}

bool Makes(const Change& change) {
  return change.verb == Verb::kCreate || IsReplace(change);
}

bool LivesOn(const Change& change) {
  return IsKeep(change) || change.verb == Verb::kUpdate;
}

std::string_view WordOf(Verb verb) {
  constexpr std::string_view kWords[] = {"no-op",   "create", "update", "replace",
                                         "replace", "delete", "delete", "run"};
  return kWords[static_cast<std::size_t>(verb)];
}

void PlanCounts::Add(Verb verb) {
  const bool first_deletes = verb == Verb::kDeleteThenCreate;
  change += verb == Verb::kUpdate ? 1 : 0;
  steps += verb == Verb::kRun ? 1 : 0;
  destroy += verb == Verb::kDelete || first_deletes ? 1 : 0;
  // Where the new one comes first, deleting the old one is a change of its own.
  add += verb == Verb::kCreate || verb == Verb::kCreateThenDelete || first_deletes ? 1 : 0;
}

PlanCounts Plan::Counts() const {
  PlanCounts counts;
  for (const Change& change : changes) {
    if (!IsValue(change)) counts.Add(change.verb);
  }
  return counts;
}

bool Plan::Empty() const {
  if (mode == PlanMode::kRefreshOnly && !drift.empty()) return false;
  return std::all_of(changes.begin(), changes.end(), [](const Change& change) {
    return IsKeep(change) && change.previous_address.empty();
  });
}

}  // namespace podctl
