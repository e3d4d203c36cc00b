// Asks the API what is there now, and settles what an earlier run left pending.
#pragma once

#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/spec.h"
#include "providers/base/error.h"
#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

class ListAhead;

// What the API says: every node of every project and zone that the spec or the state names.
struct Observation {
  std::map<NodeName, Value> nodes;
  // The newest word on operations that the state holds as pending, by operation name.
  std::map<std::string, Operation> operations;
  // Of creates that were sent by a run which did not live to hear the answer: what the service
  // calls them.
  std::map<NodeName, std::string> begun;
  // Nodes that nobody looked at: they are as the state remembers them, and sensitive metadata
  // stands as its digest.
  std::set<NodeName> remembered;

  // Queued resources of the zones where the spec or the state has one.
  std::map<QueuedName, Value> queued;
  // What the world says of the things of other kinds, as each kind asked; null: it is gone.
  std::map<Address, Value> seen;

  const Value* Find(const NodeName& name) const;
  // Of another kind; nullptr: nobody looked.
  const Value* Seen(const Address& address) const;
  // Of a pod that has one; nullptr when it has none, or it is not there.
  const Value* FindQueued(const PodRecord& record) const;
};

// With `refresh` one paged list for each project and zone, up to `parallelism` at once; without,
// the state is believed. Either way pending operations are looked up, and what became of a create
// that was begun and is not in the list. The first failure is returned, naming the zone.
// `flags`: what a command that it advises needs to find this state, as in StatePlace. `ahead`:
// lists of v2 that may have been begun, by the same provider.
Result<Observation> Observe(const Spec& spec, const State& state, Provider& provider,
                            int parallelism, std::stop_token stop, bool refresh = true,
                            const std::string& flags = {}, ListAhead* ahead = nullptr,
                            Kinds kinds = {});

// The state brought up to what was observed, without contacting anything: facts of live nodes are
// taken over, finished intents are settled (a create that took is adopted, one that did not is
// dropped, a delete that took is forgotten). A create of which nothing is known yet stays pending:
// the node may still appear, and is podctl's. Notes for the user are appended to `notes`.
State Settle(State state, const Observation& observation, std::vector<std::string>* notes,
             Kinds kinds = {});

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

// The create of that node that was begun at `begun_at` (RFC 3339; empty: at any time) or later, for
// who did not hear its answer; nullptr when there is none among `operations`, into which the
// pointer points.
const Operation* FindCreate(const std::vector<Operation>& operations, const NodeName& name,
                            const std::string& begun_at);

QueuedName QueuedNameOf(const PodSpec& pod);  // of a pod with a queued resource
QueuedName QueuedNameOf(const PodRecord& record);
NodeName NameOf(const PodSpec& pod);
NodeName NameOf(const PodRecord& record);
NodeName NameOf(const PodRecord& record, const Object& deposed);

}  // namespace podctl
