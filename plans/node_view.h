// Reading a Node resource (Cloud TPU API v2) with names: what podctl needs to know of one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plans/spec/spec.h"
#include "providers/base/value.h"
#include "providers/provider.h"
#include "providers/worker.h"
#include "state/state.h"

namespace podctl {

// Words of the service, of one line each whatever it sends: no text of it makes lines of podctl's.
std::string NodeState(const Value& node);   // Node.state, "STATE_UNSPECIFIED" when absent
std::string NodeHealth(const Value& node);  // Node.health, "" when absent
std::string NodeHealthDescription(const Value& node);  // Node.healthDescription, "" when absent
// Node.id, or Node.createTime where the service gives none.
std::string NodeUid(const Value& node);
std::string NodeId(const Value& node);  // the last part of Node.name
std::size_t WorkerCount(const Value& node);
// Of each slice of a multislice; 0 for any other node.
int WorkersPerSlice(const Value& node);

// A preempted or terminated node never comes back; it has to be deleted and made anew.
bool IsTerminalState(const std::string& state);

// STOPPED, or on the way there: its workers do not answer.
bool IsStopped(const Value& node);

// Whether this podctl has heard of such a state; the service may have grown new ones.
bool IsKnownState(const std::string& state);

// The part of a node that the state keeps: facts, never metadata (others' values may be secret).
Value ObservedFacts(const Value& node);

// Workers as reached from here, from what the state knows. Where it names no user, the local user's
// name is taken, as ssh and gcloud do.
std::vector<WorkerAccess> AccessToWorkers(const std::string& pod, const PodRecord& record);

// Host keys of `hostkeys/` guest attributes in known_hosts form, by worker.
std::map<int, std::vector<HostKeyText>> HostKeysOf(const std::vector<WorkerAttributes>& workers);

}  // namespace podctl
