#include "plans/spec/job_spec.h"

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
  static const std::vector<std::string> names = {"maintenance", "preemption", "connection",
                                                 "heartbeat",   "killed",     "failure"};
  return names;
}

std::string_view RestartReasonName(RestartReason reason) {
  return RestartReasonNames()[static_cast<std::size_t>(reason)];
}

}  // namespace podctl
