#include "state/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace podctl {
namespace {

Error NotThere(const Address& address) {
  return MakeError(ErrorCode::kNotFound, fmt::format("`{}` is not in the state", address));
}

Error Taken(const Address& address) {
  return MakeError(ErrorCode::kAlreadyExists, fmt::format("`{}` is in the state already", address));
}

Result<void> MovePod(State& state, const Address& from, const Address& to) {
  if (!state.pods.contains(from)) return NotThere(from);
  if (state.pods.contains(to)) return Taken(to);
  std::vector<std::pair<Address, Address>> steps;
  for (const auto& [address, step] : state.steps) {
    if (step.pod != from) continue;
    Address moved = address;
    moved.name.replace(0, from.name.size(), to.name);
    if (state.steps.contains(moved)) return Taken(moved);
    steps.emplace_back(address, std::move(moved));
  }
  for (const auto& [address, moved] : steps) {
    auto node = state.steps.extract(address);
    node.key() = moved;
    node.mapped().pod = to;
    state.steps.insert(std::move(node));
  }
  auto node = state.pods.extract(from);
  node.key() = to;
  state.pods.insert(std::move(node));
  for (auto& [address, pod] : state.pods) {
    std::replace(pod.depends_on.begin(), pod.depends_on.end(), from, to);
  }
  return {};
}

Result<void> MoveStep(State& state, const Address& from, const Address& to) {
  const auto step = state.steps.find(from);
  if (step == state.steps.end()) return NotThere(from);
  const std::string prefix = step->second.pod.name + ".";
  if (!to.name.starts_with(prefix) || to.name.size() == prefix.size()) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("`{}` cannot become `{}`: a step stays with its pod", from, to),
        fmt::format("To rename the pod with all its steps, move `{}`.", step->second.pod));
  }
  if (state.steps.contains(to)) return Taken(to);
  auto node = state.steps.extract(step);
  node.key() = to;
  state.steps.insert(std::move(node));
  return {};
}

Result<void> MoveTraining(State& state, const Address& from, const Address& to) {
  if (!state.training_jobs.contains(from)) return NotThere(from);
  if (state.training_jobs.contains(to)) return Taken(to);
  auto node = state.training_jobs.extract(from);
  node.key() = to;
  state.training_jobs.insert(std::move(node));
  return {};
}

}  // namespace

Result<void> MoveAddress(State& state, const Address& from, const Address& to) {
  if (from.kind == to.kind && from.kind == kPodKind) return MovePod(state, from, to);
  if (from.kind == to.kind && from.kind == kTrainingKind) return MoveTraining(state, from, to);
  if (from.kind == to.kind && from.kind == kStepKind) return MoveStep(state, from, to);
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("`{}` cannot become `{}`: they are of different kinds", from, to),
                   "Addresses are `pod.NAME`, `bootstrap.NAME.STEP` and `trainingJob.NAME`.");
}

}  // namespace podctl
