// What the services say of pods: every node of every project and zone that the spec or the state
// names, what waits to become one, and what became of requests that an earlier run began.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

struct PodSurvey {
  std::map<NodeName, Value> nodes;
  // The newest word on operations that the state holds as pending, by operation name.
  std::map<std::string, Operation> operations;
  // Of creates that were sent by a run which did not live to hear the answer: what the service
  // calls them.
  std::map<NodeName, std::string> begun;
  // Nodes that nobody looked at: they are as the state remembers them, and sensitive metadata
  // stands as its digest.
  std::set<NodeName> remembered;
  // What stands for pods besides their nodes, by its resource name; only its backing reads it.
  std::map<std::string, Value> auxiliary;

  const Value* Find(const NodeName& name) const;
  // Whether what was begun goes on, as far as somebody looked.
  bool IsRunning(const PendingAction& pending) const;
};
// The part of an observation that is of pods; empty where nobody looked.
const PodSurvey& PodsIn(const Observation& observation);
PodSurvey& PodsIn(Observation* observation);

// With refresh paged lists for each project and zone; without, the state is believed. Either way
// pending operations are looked up, and what became of a create that was begun and is not in the
// list. Errors name the zone.
KindSurveys SurveyPods(const SurveyInput& input);

// The create of that node that was begun at `begun_at` (RFC 3339; empty: at any time) or later, for
// who did not hear its answer; nullptr when there is none among `operations`, into which the
// pointer points.
const Operation* FindCreate(const std::vector<Operation>& operations, const NodeName& name,
                            const std::string& begun_at);

NodeName NameOf(const PodSpec& pod);
NodeName NameOf(const PodRecord& record);
NodeName NameOf(const PodRecord& record, const Object& deposed);

}  // namespace podctl
