// What a pod's queued resource says of the pod, before its node is looked at. Pure.
#pragma once

#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/unknown_fate.h"
#include "providers/base/diagnostic.h"
#include "providers/base/value.h"
#include "state/state.h"

namespace podctl {

struct QueuedVerdict {
  enum class Kind {
    kNodeTells,  // there is a node, and it says what is to be done
    kWaits,      // the request is on its way
    kDead        // nothing will come of it, or what came is gone: it is replaced
  };
  Kind kind = Kind::kNodeTells;
  std::string reason;  // of the others: a clause
  std::string lost;  // of kDead: how the service took the node away (Change::lost); "": it did not
};

struct QueuedPod {
  const PodSpec& pod;
  const PodRecord& record;
  const Value* node;  // nullptr: there is none
  const Value& queued;
};

// `queued`: as the service shows it, of a record that has one.
QueuedVerdict JudgeQueued(const PodRecord& record, const Value& queued, bool has_node);

// Why a pod cannot be asked for: somebody else's queued resource has its name.
Diagnostic QueueTaken(const PodSpec& pod, const Address& address, const Value& queued,
                      const State& state, const StatePlace& place);

}  // namespace podctl
