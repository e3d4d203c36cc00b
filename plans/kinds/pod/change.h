// What the plan of a pod says beyond what every change says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/payload.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/record.h"
#include "providers/base/value.h"
#include "providers/provider.h"

namespace podctl {

enum class Power { kStart, kStop };

struct PodChange {
  // As the spec wants it, with the node's id settled. Of a pod that goes: empty.
  PodSpec wanted;
  // That is made, changed or deleted; of a pod that is replaced, the new one.
  NodeName node;
  // Of kUpdate: Node field paths, sorted: "labels", "metadata", …
  std::vector<std::string> fields = {};
  // Of kUpdate: the node is started before its fields are changed, or stopped after.
  std::optional<Power> power = {};
  // How the service took the pod's node away, for which it is made anew ("PREEMPTED", "SUSPENDED",
  // "gone"); empty: it did not.
  std::string lost = {};
  // Of ReasonCode::kTainted: the state of the node that is of no more use; nullopt: what it
  // comes from is not.
  std::optional<std::string> node_state = {};
};

// nullptr: the change is not a pod's.
inline const PodChange* AsPod(const Change& change) {
  return change.payload.As<PodChange>();
}

// The pod of a pod's address, or of a step's; empty: it is neither.
inline std::string PodNameOf(const Address& address) {
  if (address.kind == kPodKind) return address.name;
  return address.kind == kStepKind ? address.name.substr(0, address.name.find('.')) : "";
}

// ---- What becomes of a pod, as far as its steps have to know it.

// Lent while a plan is made. There are none of a pod on which no step can run.
struct PodFacts {
  Payload change;  // the pod's PodChange
  NodeName node;
  const PodRecord* record = nullptr;
  // As the service has it; nullptr when it is about to be made: every step runs, and the runtime
  // starts with the new metadata by itself.
  const Value* seen = nullptr;
  bool replaced = false;
  // What changes of what tpu-runtime reads when it starts, as a clause: "libtpuFlags.a changes".
  std::string flags_that_change = {};
};

}  // namespace podctl
