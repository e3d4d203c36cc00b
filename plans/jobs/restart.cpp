#include "plans/jobs/restart.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "plans/kinds/pod/node_view.h"
#include "providers/base/text.h"

namespace podctl {

std::optional<JobVerdict> JudgeNode(const std::string& state, const std::string& health) {
  if (IsTerminalState(state) || state == "DELETING" || state == "SUSPENDED") {
    return JobVerdict{RestartReason::kPreemption, fmt::format("the node is {}", state), state};
  }
  if (health == "UNHEALTHY_MAINTENANCE" || state == "REPAIRING" || state == "RESTARTING") {
    const std::string& word = health == "UNHEALTHY_MAINTENANCE" ? health : state;
    return JobVerdict{RestartReason::kMaintenance, fmt::format("the node is {}", word), word};
  }
  return std::nullopt;
}

JobVerdict NodeIsGone() {
  return {RestartReason::kPreemption, "the node is gone", "GONE"};
}

JobVerdict JudgeEnd(const JobEnd& end) {
  if (end.node_gone) return NodeIsGone();
  if (auto node = JudgeNode(end.node_state, end.node_health)) return *std::move(node);
  if (!end.stalled.empty()) {
    return {end.hung ? RestartReason::kHang : RestartReason::kHeartbeat, end.stalled};
  }
  if (end.told) return {*end.told, end.what};
  if (end.lost) return {RestartReason::kConnection, end.what};
  return {end.killed ? RestartReason::kKilled : RestartReason::kFailure, end.what};
}

namespace {

void ReadSeconds(const std::map<std::string, std::string>& env, const std::string& name,
                 std::chrono::seconds* seconds) {
  const auto found = env.find(name);
  if (found == env.end()) return;
  const std::string& text = found->second;
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size() && number > 0) {
    *seconds = std::chrono::seconds(number);
  }
}

}  // namespace

Heartbeat::Limits Heartbeat::LimitsOf(const std::map<std::string, std::string>& env) {
  Limits limits;
  ReadSeconds(env, "XLA_UNEVEN_HEARTBEAT_TIMEOUT", &limits.uneven);
  ReadSeconds(env, "XLA_EVEN_HEARTBEAT_TIMEOUT", &limits.even);
  return limits;
}

void Heartbeat::OnStep(std::size_t worker, Time now) {
  ++steps_[worker];
  last_ = now;
  begun_ = true;
}

std::string Heartbeat::WhyStalled(Time now) const {
  if (!begun_) return {};
  const auto [least, most] = std::minmax_element(steps_.begin(), steps_.end());
  const bool even = *least == *most;
  if (now - last_ <= (even ? limits_.even : limits_.uneven)) return {};
  const auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_);
  if (even) {
    return fmt::format("no worker has done a step for {}, after {} each", FormatDuration(silence),
                       Plural(*most, "step"));
  }
  std::vector<int> behind;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i] == *least) behind.push_back(static_cast<int>(i));
  }
  return fmt::format("no worker has done a step for {}; {} of them came to step {}, others to {}",
                     FormatDuration(silence), behind.size(), *least, *most);
}

}  // namespace podctl
