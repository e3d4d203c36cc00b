// What of a pod's change a plan does not show, although its apply goes by it: where the node is,
// how its workers are reached, how long is waited, what its programs get as their environment.
// Pure.
#pragma once

#include <vector>

#include "plans/engine/kind.h"

namespace podctl {

// As Kind::ParticularsOf. Of a pod that stays as it is: nothing, unless what is remembered of it
// beside its node is changed.
std::vector<Particular> ParticularsOfPod(const Change& change, const AnyRecord* prior);

}  // namespace podctl
