#include "plans/spec/job_spec.h"

#include <algorithm>

namespace podctl {

const std::vector<std::string>& LauncherNames() {
  static const std::vector<std::string> names = {
      "pjrt", "jax", "torch", "torchrun", "ray", "tensorflow", "xla_dist", "estimator", "shell"};
  return names;
}

std::string_view LauncherName(Launcher launcher) {
  return LauncherNames()[static_cast<std::size_t>(launcher)];
}

const std::vector<std::string>& RestartReasonNames() {
  static const std::vector<std::string> names = {
      "maintenance", "preemption", "connection",  "heartbeat", "killed",
                                                 "failure",     "hang",       "replacement", "stop"};
  return names;
}

std::chrono::seconds JobRestart::LongestPause() const {
  return std::max(backoff, std::chrono::seconds(std::chrono::minutes(1)));
}

std::chrono::seconds JobRestart::PauseAfter(int quick) const {
  std::chrono::seconds pause = backoff;
  for (int more = 1; more < quick && pause < LongestPause(); ++more) pause *= 2;
  return std::min(pause, LongestPause());
}

std::string_view RestartReasonName(RestartReason reason) {
  return RestartReasonNames()[static_cast<std::size_t>(reason)];
}

}  // namespace podctl
