// What podctl makes of a Node resource (Cloud TPU API v2) that it has read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/value.h"
#include "providers/node.h"
#include "providers/provider.h"
#include "providers/worker.h"
#include "state/state.h"

namespace podctl {

// Of each slice of a multislice; 0 for any other node.
int WorkersPerSlice(const Value& node);

// A preempted or terminated node never comes back; it has to be deleted and made anew.
bool IsTerminalState(const std::string& state);

// STOPPED, or on the way there: its workers do not answer.
bool IsStopped(const Value& node);

// Whether this podctl has heard of such a state; the service may have grown new ones.
bool IsKnownState(const std::string& state);

// The node once it was changed in place, as far as that is known: what is not, is left out.
Value NodeAfter(Value node, const std::vector<AttributeChange>& changes);

// The part of a node that the state keeps: facts, never metadata (others' values may be secret).
Value ObservedFacts(const Value& node);

// Workers as reached from here, from what the state knows. Where it names no user, the local user's
// name is taken, as ssh and gcloud do.
std::vector<WorkerAccess> AccessToWorkers(const std::string& pod, const PodRecord& record);

// Host keys of `hostkeys/` guest attributes in known_hosts form, by worker. What is no key of the
// type that it is called is left out: workers write these, and other programs read them.
std::map<int, std::vector<HostKeyText>> HostKeysOf(const std::vector<WorkerAttributes>& workers);

// What references to the pod are read from: its node, and of each worker whose host key is known
// that key, as a known_hosts file has it behind the name ("ssh-ed25519 AAAA…"), under
// kHostKeysMember.
Value PublishedNode(Value node, const PodRecord* record);
inline constexpr const char* kHostKeysMember = "sshHostKeys";

}  // namespace podctl
