#include "plans/change.h"

#include <algorithm>
#include <set>
#include <utility>

namespace podctl {

bool IsKeep(const Change& change) {
  return std::holds_alternative<Keep>(change.action);
}

std::string_view ActionWord(const Action& action) {
  constexpr std::string_view kWords[] = {"no-op", "create", "update", "replace", "delete", "run"};
  return kWords[action.index()];
}

PlanCounts Plan::Counts() const {
  PlanCounts counts;
  std::set<std::pair<std::string, int>> workers;
  for (const Change& change : changes) {
    if (std::holds_alternative<Create>(change.action)) ++counts.add;
    if (std::holds_alternative<Patch>(change.action)) ++counts.change;
    if (const auto* gone = std::get_if<Delete>(&change.action); gone != nullptr && !gone->forget) {
      ++counts.destroy;
    }
    if (const auto* replace = std::get_if<Replace>(&change.action)) {
      ++counts.add;
      // With the new node first, deleting the old one is a change of its own.
      if (!replace->create_first) ++counts.destroy;
    }
    if (const auto* run = std::get_if<RunStep>(&change.action)) {
      ++counts.steps;
      if (run->workers) {
        for (int worker : *run->workers) workers.emplace(change.pod, worker);
      } else if (run->expected_workers > 0) {
        for (std::size_t i = 0; i < run->expected_workers; ++i) {
          workers.emplace(change.pod, static_cast<int>(i));
        }
      } else {
        counts.step_workers_known = false;
      }
    }
  }
  counts.step_workers = workers.size();
  return counts;
}

bool Plan::Empty() const {
  if (mode == PlanMode::kRefreshOnly && !drift.empty()) return false;
  return std::all_of(changes.begin(), changes.end(), [](const Change& change) {
    return IsKeep(change) && change.previous_address.empty();
  });
}

}  // namespace podctl
