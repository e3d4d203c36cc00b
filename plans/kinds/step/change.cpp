#include "plans/kinds/step/change.h"

#include <set>
#include <utility>

#include "plans/kinds/pod/change.h"

namespace podctl {

StepReach ReachOfSteps(const Plan& plan) {
  StepReach reach;
  std::set<std::pair<std::string, int>> workers;
  for (const Change& change : plan.changes) {
    const StepChange* run = AsStep(change);
    if (run == nullptr) continue;
    const std::string pod = PodNameOf(change.address);
    if (run->workers) {
      for (int worker : *run->workers) workers.emplace(pod, worker);
    } else if (run->expected_workers > 0) {
      for (std::size_t i = 0; i < run->expected_workers; ++i) {
        workers.emplace(pod, static_cast<int>(i));
      }
    } else {
      reach.known = false;
    }
  }
  reach.workers = workers.size();
  return reach;
}

}  // namespace podctl
