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
KindSurveys SurveyPods(const SurveyQuestion& question);

// Facts of live nodes are taken over, finished intents are settled (a create that took is adopted,
// one that did not is dropped, a delete that took is forgotten). A create of which nothing is known
// yet stays pending: the node may still appear, and is podctl's.
void SettlePods(const PodSurvey& survey, State* state, std::vector<std::string>* notes);

// Takes over what the service says of one node: facts and uid. Host keys belong to one uid, so a
// re-created node loses the old ones.
void TakeObserved(const Value& node, PodRecord* record);

// The pod's node is gone, with the steps run on it; what is left of its record are deposed nodes,
// and what is sought for it.
void ForgetNode(const Address& address, State* state);
// A deposed node stays forever, or is gone: the record forgets it.
void ForgetDeposed(const Address& address, const std::string& node_id, State* state);
// Nothing is to be remembered of the spec's node id where it is the node's own again.
void SettleWantedId(PodRecord* record);

// The node of a record as it was seen; nullptr: it is not there, or what has its name is not the
// record's (WhoseNode). Of a record that neither has nor awaits a node nobody should ask.
const Value* NodeOf(const PodSurvey& survey, const State& state, const Address& address,
                    const PodRecord& record);
// Of a node that has the `name` of an object of the record at `address` and is not that object,
// whose it is, in words that go on after "what has its name now": podctl made it from another
// state, or it is another record's, which came after this one. Empty: it is the object, as far as
// can be told.
std::string WhoseNode(const Value& node, const State& state, const Address& address,
                      const NodeName& name, const Object& object);

// The create of that node that was begun at `begun_at` (RFC 3339; empty: at any time) or later, for
// who did not hear its answer; nullptr when there is none among `operations`, into which the
// pointer points.
const Operation* FindCreate(const std::vector<Operation>& operations, const NodeName& name,
                            const std::string& begun_at);

NodeName NameOf(const PodSpec& pod);
NodeName NameOf(const PodRecord& record);
NodeName NameOf(const PodRecord& record, const Object& deposed);

}  // namespace podctl
