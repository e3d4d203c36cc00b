#include "plans/kinds/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plans/kinds/file/record.h"
#include "plans/kinds/output/record.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/training_job/record.h"

namespace podctl {
namespace {

Error NotThere(const Address& address) {
  return MakeError(ErrorCode::kNotFound, fmt::format("`{}` is not in the state", address));
}

Error Taken(const Address& address) {
  return MakeError(ErrorCode::kAlreadyExists, fmt::format("`{}` is in the state already", address));
}

void Move(State& state, const Address& from, const Address& to) {
  auto node = state.records.extract(from);
  node.key() = to;
  state.records.insert(std::move(node));
}

// What depends on `from` depends on `to`.
template <typename T>
void Follow(State& state, const Address& from, const Address& to) {
  std::vector<Address> dependents;
  for (const auto& [address, record] : RecordsOf<T>(std::as_const(state))) {
    if (std::count(record.depends_on.begin(), record.depends_on.end(), from) > 0) {
      dependents.push_back(address);
    }
  }
  for (const Address& address : dependents) {
    std::vector<Address>& depends_on = EditableRecordsOf<T>(state).at(address).depends_on;
    std::replace(depends_on.begin(), depends_on.end(), from, to);
  }
}

Result<void> MovePod(State& state, const Address& from, const Address& to) {
  std::vector<std::pair<Address, Address>> steps;
  for (const auto& [address, step] : Steps(state)) {
    if (step.pod != from) continue;
    Address moved = address;
    moved.name.replace(0, from.name.size(), to.name);
    if (state.records.contains(moved)) return Taken(moved);
    steps.emplace_back(address, std::move(moved));
  }
  for (const auto& [address, moved] : steps) {
    Move(state, address, moved);
    Steps(state)[moved].pod = to;
  }
  Move(state, from, to);
  return {};
}

// Files and outputs refer to training jobs as they do to pods.
void FollowAll(State& state, const Address& from, const Address& to) {
  Follow<PodRecord>(state, from, to);
  Follow<TrainingRecord>(state, from, to);
  Follow<FileRecord>(state, from, to);
  Follow<OutputRecord>(state, from, to);
}

Result<void> CheckStepMove(const State& state, const Address& from, const Address& to) {
  const Address pod = Steps(state).at(from).pod;
  const std::string prefix = pod.name + ".";
  if (to.name.starts_with(prefix) && to.name.size() > prefix.size()) return {};
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("`{}` cannot become `{}`: a step stays with its pod", from, to),
                   fmt::format("To rename the pod with all its steps, move `{}`.", pod));
}

}  // namespace

Result<void> MoveAddress(State& state, const Address& from, const Address& to) {
  if (from.kind != to.kind) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("`{}` cannot become `{}`: they are of different kinds", from, to));
  }
  if (!state.records.contains(from)) return NotThere(from);
  if (from.kind == kStepKind) {
    if (auto checked = CheckStepMove(state, from, to); !checked) return checked;
  }
  if (state.records.contains(to)) return Taken(to);
  if (from.kind == kPodKind) {
    if (auto moved = MovePod(state, from, to); !moved) return moved;
  } else {
    Move(state, from, to);
  }
  FollowAll(state, from, to);
  return {};
}

}  // namespace podctl
