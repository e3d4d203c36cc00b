#include "state/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace podctl {
namespace {

constexpr std::string_view kPodPrefix = "pod.";
constexpr std::string_view kStepPrefix = "bootstrap.";
constexpr std::string_view kTrainingPrefix = "trainingJob.";

bool IsPod(std::string_view address) {
  return address.starts_with(kPodPrefix) && address.size() > kPodPrefix.size();
}

// "bootstrap.a." of "pod.a".
std::string StepsOf(const std::string& pod) {
  return StepAddress(pod.substr(kPodPrefix.size()), "");
}

Error NotThere(const std::string& address) {
  return MakeError(ErrorCode::kNotFound, fmt::format("`{}` is not in the state", address));
}

Error Taken(const std::string& address) {
  return MakeError(ErrorCode::kAlreadyExists, fmt::format("`{}` is in the state already", address));
}

Result<void> MovePod(State& state, const std::string& from, const std::string& to) {
  if (!state.pods.contains(from)) return NotThere(from);
  if (state.pods.contains(to)) return Taken(to);
  std::vector<std::pair<std::string, std::string>> steps;
  for (const auto& [address, step] : state.steps) {
    if (step.pod != from) continue;
    std::string moved =
        StepsOf(to) + address.substr(std::min(StepsOf(from).size(), address.size()));
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

Result<void> MoveStep(State& state, const std::string& from, const std::string& to) {
  const auto step = state.steps.find(from);
  if (step == state.steps.end()) return NotThere(from);
  const std::string prefix = StepsOf(step->second.pod);
  if (!to.starts_with(prefix) || to.size() == prefix.size()) {
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

bool IsTraining(std::string_view address) {
  return address.starts_with(kTrainingPrefix) && address.size() > kTrainingPrefix.size();
}

Result<void> MoveTraining(State& state, const std::string& from, const std::string& to) {
  if (!state.training_jobs.contains(from)) return NotThere(from);
  if (state.training_jobs.contains(to)) return Taken(to);
  auto node = state.training_jobs.extract(from);
  node.key() = to;
  state.training_jobs.insert(std::move(node));
  return {};
}

}  // namespace

Result<void> MoveAddress(State& state, const std::string& from, const std::string& to) {
  if (IsPod(from) && IsPod(to)) return MovePod(state, from, to);
  if (IsTraining(from) && IsTraining(to)) return MoveTraining(state, from, to);
  if (from.starts_with(kStepPrefix) && to.starts_with(kStepPrefix))
    return MoveStep(state, from, to);
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("`{}` cannot become `{}`: they are of different kinds", from, to),
                   "Addresses are `pod.NAME`, `bootstrap.NAME.STEP` and `trainingJob.NAME`.");
}

}  // namespace podctl
