// Asks the API what is there now, and settles what an earlier run left pending.
#pragma once

#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/spec/spec.h"
#include "providers/base/error.h"
#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

// What the API says: every node of every project and zone that the spec or the state names.
struct Observation {
  std::map<NodeName, Value> nodes;
  // The newest word on operations that the state holds as pending, by operation name.
  std::map<std::string, Operation> operations;

  const Value* Find(const NodeName& name) const;
};

// One paged list for each project and zone, up to `parallelism` at once, plus one get for each
// pending operation. The first failure is returned, naming the zone.
Result<Observation> Observe(const Spec& spec, const State& state, Provider& provider,
                            int parallelism, std::stop_token stop);

// The state brought up to what was observed, without contacting anything: facts of live nodes are
// taken over, finished intents are settled (a create that took is adopted, one that did not is
// dropped, a delete that took is forgotten). Notes for the user are appended to `notes`.
State Settle(State state, const Observation& observation, std::vector<std::string>* notes);

// Takes over what the service says of one node: facts and uid. Host keys belong to one uid, so a
// re-created node loses the old ones.
void TakeObserved(const Value& node, PodRecord* record);

NodeName NameOf(const PodSpec& pod);
NodeName NameOf(const PodRecord& record);

}  // namespace podctl
