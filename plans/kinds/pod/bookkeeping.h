// What the state keeps of a pod beside the node itself, so that exec, ssh and destroy need no spec:
// how the workers are reached, what it depends on, whether it is protected. Pure.
#pragma once

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/references.h"
#include "state/state.h"

namespace podctl {

// `lookup` is what references of the pod's runtimeEnv are read from. A sensitive value is never
// kept.
void TakeBookkeeping(const PodSpec& pod, const ReferenceLookup& lookup, PodRecord* record);

}  // namespace podctl
