// What a plan means for the jobs of the spec. Pure.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/spec/spec.h"

namespace podctl {

// "train runs on pod.research, which is replaced", for each job whose pod is made, changed,
// replaced or deleted.
std::vector<std::string> JobsAffected(const Spec& spec, const Plan& plan);

}  // namespace podctl
