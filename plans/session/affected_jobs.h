// What a plan means for the jobs of the spec. Pure.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/executor.h"
#include "plans/spec/spec.h"

namespace podctl {

// "train runs on pod.research, which is replaced", for each job whose pod is made, changed,
// replaced or deleted.
std::vector<std::string> JobsAffected(const Spec& spec, const Plan& plan);

// Jobs that `autostart` is set for, and whose pod this plan has made, replaced or bootstrapped, all
// of it as planned.
struct DueJob {
  const JobSpec* job = nullptr;  // of the spec
  bool fresh = false;            // the pod's workers are new ones: nothing runs there
};
std::vector<DueJob> JobsDue(const Spec& spec, const Plan& plan, const ExecuteResult& result);

}  // namespace podctl
