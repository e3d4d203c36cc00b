// Nodes that podctl cannot account for: one that is there although the state does not know it, and
// one of which nobody knows whether it was made. Finds the former, and has the words for both.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/planner.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/diagnostic.h"
#include "providers/base/error.h"
#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

// What podctl was about to do, in a word: "create", "update", "delete".
std::string_view PendingVerb(PendingAction::Kind kind);

// What has the name that a pod wants.
struct NameConflict {
  std::string_view kind;
  std::string_view both;  // with all that an import takes over
  std::string_view key;   // of the spec, for another name
  std::string_view id;
  std::string made_from;  // the lineage of the state; empty: not known
};

// What to do about what is in no state at hand: where else the state may be, how it is taken over,
// and another name, in this order.
std::string NameConflictHint(const NameConflict& taken, const PodSpec& pod, const Address& address,
                             const State& state, const StatePlace& place);
// Of a node of the pod's name. `node`: as it is there; nullptr: nobody has looked.
std::string NameConflictHint(const PodSpec& pod, const Address& address, const Value* node,
                             const State& state, const StatePlace& place);
// Of a node that was the pod's when the plan was made, and another state's when it was acted on.
Error NotOurs(const NodeName& name);
bool IsGoing(const Value* node);  // nullptr: there is none
// Of one that somebody is deleting: there is nothing to take over. `key` of the spec names another.
std::string GoingHint(std::string_view key);

// A warning for each node that was seen, that by its label podctl made with `state`, and that no
// record of it knows: what a run made that was overtaken, or lost the answer. `named`: nodes that
// the plan speaks of anyway; asked for at most once. Of very many the last warning counts the rest.
// `flags` as in StatePlace.
std::vector<Diagnostic> WarnOfUnknownNodes(const PodSurvey& survey, const State& state,
                                           const std::function<std::vector<NodeName>()>& named,
                                           const std::string& flags);

// What an earlier run left under way in a zone that cannot be asked now, and how to go on without
// knowing; empty where there is nothing. `flags` as in StatePlace.
std::string PendingHint(const State& state, const std::string& project, const std::string& zone,
                        const std::string& flags);

// "create of b1, begun at 2026-11-20T14:30:00Z, of which no answer was heard".
std::string PendingWords(const PendingAction& pending, const std::string& node);

// A pod that is to go, whose creation an earlier run began less than an hour before `now` (RFC
// 3339; empty: not known), and of which nothing has been heard or seen: the request may still be on
// its way, and its record has to stay, or nobody looks for the node. nullopt: it need not.
std::optional<Diagnostic> WhyKept(const Address& address, const PodRecord& record,
                                  const std::string& now, const std::string& flags);

// What is risked where such a record is forgotten.
std::string ForgetRisk(const std::string& project, const std::string& zone);

}  // namespace podctl
