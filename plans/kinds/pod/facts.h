// What becomes of a pod, as far as its steps have to know it.
#pragma once

#include "plans/engine/payload.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/value.h"
#include "providers/provider.h"

namespace podctl {

// Lent while a plan is made. There are none of a pod on which no step can run.
struct PodFacts {
  Payload change;  // the pod's PodChange
  NodeName node;
  const PodRecord* record = nullptr;
  // As the service has it; nullptr when it is about to be made: every step runs, and the runtime
  // starts with the new metadata by itself.
  const Value* seen = nullptr;
  bool replaced = false;
  bool changes_flags = false;  // the metadata entry that tpu-runtime reads when it starts
};

}  // namespace podctl
