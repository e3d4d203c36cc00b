#include "plans/jobs/restart.h"

#include <fmt/format.h>

#include "plans/kinds/pod/node_view.h"

namespace podctl {

std::optional<JobVerdict> JudgeNode(const std::string& state, const std::string& health) {
  if (IsTerminalState(state) || state == "DELETING" || state == "SUSPENDED") {
    return JobVerdict{RestartReason::kPreemption, fmt::format("the node is {}", state)};
  }
  if (health == "UNHEALTHY_MAINTENANCE" || state == "REPAIRING" || state == "RESTARTING") {
    const std::string& word = health == "UNHEALTHY_MAINTENANCE" ? health : state;
    return JobVerdict{RestartReason::kMaintenance, fmt::format("the node is {}", word)};
  }
  return std::nullopt;
}

JobVerdict JudgeEnd(const JobEnd& end) {
  if (end.node_gone) return {RestartReason::kPreemption, "the node is gone"};
  if (auto node = JudgeNode(end.node_state, end.node_health)) return *std::move(node);
  if (!end.stalled.empty()) return {RestartReason::kHeartbeat, end.stalled};
  if (end.lost) return {RestartReason::kConnection, end.what};
  return {end.killed ? RestartReason::kKilled : RestartReason::kFailure, end.what};
}

}  // namespace podctl
