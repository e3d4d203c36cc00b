// The records of pods brought up to what a survey saw: what an earlier run began is finished or
// dropped, and what is gone is forgotten. Contacts nobody.
#pragma once

#include <string>
#include <vector>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "providers/base/value.h"
#include "providers/provider.h"
#include "state/address.h"
#include "state/state.h"

namespace podctl {

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

}  // namespace podctl
