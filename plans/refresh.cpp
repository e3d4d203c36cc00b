#include "plans/refresh.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "plans/diff.h"
#include "plans/node_view.h"
#include "plans/planner.h"

namespace podctl {
namespace {

using ZoneName = std::pair<std::string, std::string>;

Error InZone(const Error& error, const ZoneName& zone) {
  return MakeError(
      error.code,
      fmt::format("cannot list the nodes of {} in {}: {}", zone.first, zone.second, error.message),
      error.hint);
}

// What one thread works off.
struct Errand {
  enum class Kind { kList, kOperation, kOperations, kNode };
  Kind kind = Kind::kList;
  ZoneName zone;          // kList, kOperations
  std::string operation;  // kOperation
  NodeName node;          // kNode
  ApiVersion version = ApiVersion::kV2;
};

class Collector {
 public:
  Collector(Provider& provider, Observation& observation, std::stop_token stop)
      : provider_(provider), observation_(observation), stop_(std::move(stop)) {}

  Result<void> Run(std::vector<Errand> errands, int parallelism) {
    errands_ = std::move(errands);
    next_ = 0;
    const auto threads =
        std::min<std::size_t>(errands_.size(), static_cast<std::size_t>(std::max(1, parallelism)));
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 1; i < threads; ++i) workers.emplace_back([this] { Work(); });
      Work();
    }
    if (!errors_.empty()) return errors_.front();
    return {};
  }

  // Of kOperations errands; a zone whose operations may not be listed has none.
  const std::vector<Operation>& listed() const { return listed_; }

 private:
  void Work() {
    for (std::size_t i = next_++; i < errands_.size(); i = next_++) {
      const Errand& errand = errands_[i];
      switch (errand.kind) {
        case Errand::Kind::kList:
          List(errand);
          break;
        case Errand::Kind::kOperation:
          LookUp(errand);
          break;
        case Errand::Kind::kOperations:
          ListOperations(errand);
          break;
        case Errand::Kind::kNode:
          Get(errand);
          break;
      }
    }
  }

  Provider& Cloud(const Errand& errand) { return provider_.Speaking(errand.version); }

  void List(const Errand& errand) {
    const ZoneName& zone = errand.zone;
    auto nodes = Cloud(errand).ListNodes(zone.first, zone.second, stop_);
    std::lock_guard lock(mutex_);
    if (!nodes) {
      errors_.push_back(InZone(nodes.error(), zone));
      return;
    }
    for (Value& node : *nodes) {
      NodeName name{zone.first, zone.second, NodeId(node)};
      observation_.nodes[std::move(name)] = std::move(node);
    }
  }

  void LookUp(const Errand& errand) {
    const std::string& name = errand.operation;
    auto operation = Cloud(errand).GetOperation(name, stop_);
    std::lock_guard lock(mutex_);
    if (operation) {
      observation_.operations[name] = std::move(*operation);
    } else if (operation.error().code != ErrorCode::kNotFound) {
      const Error& error = operation.error();
      errors_.push_back(MakeError(
          error.code, fmt::format("cannot look up {}: {}", name, error.message), error.hint));
    }  // a forgotten operation: the list of nodes alone decides
  }

  void ListOperations(const Errand& errand) {
    auto operations = Cloud(errand).ListOperations(errand.zone.first, errand.zone.second, stop_);
    std::lock_guard lock(mutex_);
    if (!operations) return;  // not everybody may; the node itself tells in the end
    std::move(operations->begin(), operations->end(), std::back_inserter(listed_));
  }

  void Get(const Errand& errand) {
    const NodeName& name = errand.node;
    auto node = Cloud(errand).GetNode(name, stop_);
    std::lock_guard lock(mutex_);
    if (node) {
      observation_.nodes[name] = std::move(*node);
    } else if (node.error().code != ErrorCode::kNotFound) {
      const Error& error = node.error();
      errors_.push_back(MakeError(
          error.code, fmt::format("cannot look at {}: {}", name.Resource(), error.message),
          error.hint));
    }
  }

  Provider& provider_;
  Observation& observation_;
  std::stop_token stop_;
  std::vector<Errand> errands_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::vector<Error> errors_;
  std::vector<Operation> listed_;
};

// An RFC 3339 time in UTC without its fraction: the service gives nanoseconds, this machine none,
// and as texts "05.123Z" stands before "05Z".
std::string_view ToSeconds(std::string_view time) {
  constexpr std::size_t kSeconds = 19;
  return time.substr(0, kSeconds);
}

bool MayBeginUnheard(const PodRecord& record) {
  return !record.exists && record.pending && record.pending->kind == PendingAction::Kind::kCreate;
}

// A node as the state remembers it.
Value RememberedNode(const PodRecord& record) {
  Value node = record.applied.is_map() ? record.applied : Value::EmptyMap();
  for (const auto& [key, fact] : record.observed.AsMap()) node.Set(key, fact);
  Value metadata = Value::EmptyMap();
  for (const auto& [key, value] : record.metadata) metadata.Set(key, value);
  node.Set("metadata", std::move(metadata));
  node.Set("name", NameOf(record).Resource());
  node.Set("id", record.uid);
  return node;
}

void Remember(const State& state, Observation* observation) {
  const auto add = [&](const NodeName& name, Value node) {
    observation->nodes[name] = std::move(node);
    observation->remembered.insert(name);
  };
  for (const auto& [address, record] : state.pods) {
    if (record.exists && !record.pending) add(NameOf(record), RememberedNode(record));
    for (const DeposedNode& deposed : record.deposed) {
      if (deposed.pending) continue;
      Value node;
      node.Set("name", NameOf(record, deposed).Resource());
      node.Set("id", deposed.uid);
      add(NameOf(record, deposed), std::move(node));
    }
  }
}

// Every zone that the spec or the state names. A list in v2alpha1 shows all that one in v2 does, so
// one pod that needs it is enough.
std::map<ZoneName, ApiVersion> ZonesOf(const Spec& spec, const State& state) {
  std::map<ZoneName, ApiVersion> zones;
  const auto add = [&](const std::string& project, const std::string& zone, ApiVersion version) {
    ApiVersion& known = zones.emplace(ZoneName(project, zone), version).first->second;
    known = std::max(known, version);
  };
  for (const PodSpec& pod : spec.pods) {
    add(pod.project, pod.zone, pod.api_version.value_or(ApiVersion::kV2));
  }
  for (const auto& [address, record] : state.pods) {
    add(record.project, record.zone, record.api_version);
  }
  return zones;
}

// What is looked at first: everything there is, or only what an earlier run left open.
std::vector<Errand> FirstErrands(const Spec& spec, const State& state, bool refresh) {
  std::vector<Errand> errands;
  if (refresh) {
    for (const auto& [zone, version] : ZonesOf(spec, state)) {
      errands.push_back({Errand::Kind::kList, zone, {}, {}, version});
    }
  }
  const auto follow = [&](const std::optional<PendingAction>& pending, const NodeName& name,
                          ApiVersion version) {
    if (!pending) return;
    if (!pending->operation.empty()) {
      errands.push_back({Errand::Kind::kOperation, {}, pending->operation, {}, version});
    }
    if (!refresh) errands.push_back({Errand::Kind::kNode, {}, {}, name, version});
  };
  for (const auto& [address, record] : state.pods) {
    follow(record.pending, NameOf(record), record.api_version);
    for (const DeposedNode& deposed : record.deposed) {
      follow(deposed.pending, NameOf(record, deposed), record.api_version);
    }
  }
  return errands;
}

// A create that was begun and whose node is not in the list: the list may lag behind, and a run
// that was killed before it heard the answer does not even know the operation's name.
Result<void> LookForCreates(const State& state, Collector& collector, Observation& observation,
                            int parallelism) {
  std::map<ZoneName, ApiVersion> zones;
  std::vector<Errand> errands;
  std::vector<const PodRecord*> open;
  for (const auto& [address, record] : state.pods) {
    if (!MayBeginUnheard(record) || observation.Find(NameOf(record)) != nullptr) continue;
    if (record.pending->operation.empty()) {
      ApiVersion& version = zones[{record.project, record.zone}];
      version = std::max(version, record.api_version);
      open.push_back(&record);
    }
    errands.push_back({Errand::Kind::kNode, {}, {}, NameOf(record), record.api_version});
  }
  if (errands.empty()) return {};
  std::vector<Errand> lists;
  for (const auto& [zone, version] : zones) {
    lists.push_back({Errand::Kind::kOperations, zone, {}, {}, version});
  }
  if (auto listed = collector.Run(std::move(lists), parallelism); !listed) return listed;
  for (const PodRecord* record : open) {
    const Operation* newest =
        FindCreate(collector.listed(), NameOf(*record), record->pending->begun_at);
    if (newest == nullptr) continue;
    observation.begun[NameOf(*record)] = newest->name;
    observation.operations[newest->name] = *newest;
  }
  // After the operations: one that is done by now has left its node.
  return collector.Run(std::move(errands), parallelism);
}

std::string RuntimeStepAddress(const std::string& pod_address) {
  return StepAddress(pod_address.substr(pod_address.find('.') + 1), kRuntimeStepName);
}

// A create that an earlier run began, and that ended without it, left a node whose runtime started
// with the metadata it was created with.
void NoteRuntime(const std::string& address, const PodRecord& record, const Value& node,
                 State* state) {
  const Value* variables = node["metadata"].Find(kRuntimeEnvKey);
  if (variables == nullptr) state->steps.erase(RuntimeStepAddress(address));
  if (variables == nullptr || NodeState(node) != "READY" || WorkerCount(node) < 2) return;
  StepRecord step;
  step.pod = address;
  for (int worker = 0; worker < static_cast<int>(WorkerCount(node)); ++worker) {
    step.workers[worker] = {RuntimeDigest(variables->AsString()), record.uid,
                            record.pending->begun_at};
  }
  state->steps[RuntimeStepAddress(address)] = std::move(step);
}

bool StillRunning(const PendingAction& pending, const Observation& observation) {
  auto it = observation.operations.find(pending.operation);
  return it != observation.operations.end() && !it->second.done;
}

class Settlement {
 public:
  Settlement(State& state, const Observation& observation, std::vector<std::string>& notes)
      : state_(state), observation_(observation), notes_(notes) {}

  void Run() {
    std::vector<std::string> addresses;
    for (const auto& [address, record] : state_.pods) addresses.push_back(address);
    for (const std::string& address : addresses) {
      PodRecord& record = state_.pods.at(address);
      SettleDeposed(address, record);
      const Value* node = observation_.Find(NameOf(record));
      if (node != nullptr) {
        SettleThere(address, *node, record);
      } else {
        SettleGone(address, record);
      }
      const bool empty = !record.exists && !record.pending && record.deposed.empty();
      if (empty) ForgetNode(address, &state_);
    }
  }

 private:
  void Note(const std::string& address, std::string_view text) {
    notes_.push_back(fmt::format("{}: {}", address, text));
  }

  void SettleThere(const std::string& address, const Value& node, PodRecord& record) {
    const bool created = MayBeginUnheard(record);
    if (!record.exists && !created) return;  // somebody else's, under a name that was ours
    if (record.exists && !record.uid.empty() && record.uid != NodeUid(node)) {
      Note(address, "the node was deleted and made anew outside of podctl");
    }
    TakeObserved(node, &record);
    if (created) {
      NoteRuntime(address, record, node, &state_);
      // Whoever began it did not live to see its workers.
      state_.steps[StepAddress(address.substr(address.find('.') + 1), kReadinessStepName)] = {
          address, {}};
      Note(address, "an earlier run had begun to create it; the node is there and is taken up");
    }
    const bool unfinished = NodeState(node) == "CREATING" || NodeState(node) == "DELETING";
    if (record.pending && !unfinished && !StillRunning(*record.pending, observation_)) {
      record.pending.reset();
    }
  }

  void SettleGone(const std::string& address, PodRecord& record) {
    if (!record.pending) {
      record.observed = Value();  // vanished: the planner says so
      return;
    }
    PendingAction& pending = *record.pending;
    switch (pending.kind) {
      case PendingAction::Kind::kPatch:
        record.observed = Value();
        record.pending.reset();
        return;
      case PendingAction::Kind::kDelete:
        Note(address, "its deletion, begun by an earlier run, is complete");
        return ForgetOrKeep(record);
      case PendingAction::Kind::kCreate:
        break;
    }
    if (pending.operation.empty()) {
      const auto begun = observation_.begun.find(NameOf(record));
      // It may have been sent a moment before the run ended, and not be seen anywhere yet.
      if (begun == observation_.begun.end()) return;
      pending.operation = begun->second;
    }
    if (StillRunning(pending, observation_)) return;
    Note(address, "a creation begun by an earlier run left no node");
    if (!ReinstateDeposed(&record)) return ForgetOrKeep(record);
    const Value* old = observation_.Find(NameOf(record));
    if (old != nullptr) TakeObserved(*old, &record);
  }

  // Run() forgets the record when nothing is left of it.
  static void ForgetOrKeep(PodRecord& record) {
    record.exists = false;
    record.uid.clear();
    record.pending.reset();
    record.observed = Value();
  }

  void SettleDeposed(const std::string& address, PodRecord& record) {
    std::erase_if(record.deposed, [&](DeposedNode& deposed) {
      const Value* node = observation_.Find(NameOf(record, deposed));
      if (node == nullptr) return true;
      if (!deposed.uid.empty() && deposed.uid != NodeUid(*node)) {
        Note(address, fmt::format("the deposed node {} is gone; what has its name now is somebody "
                                  "else's, and is left alone",
                                  deposed.node_id));
        return true;
      }
      if (deposed.pending && NodeState(*node) != "DELETING" &&
          !StillRunning(*deposed.pending, observation_)) {
        deposed.pending.reset();
      }
      return false;
    });
  }

  State& state_;
  const Observation& observation_;
  std::vector<std::string>& notes_;
};

}  // namespace

const Value* Observation::Find(const NodeName& name) const {
  auto it = nodes.find(name);
  return it == nodes.end() ? nullptr : &it->second;
}

const Operation* FindCreate(const std::vector<Operation>& operations, const NodeName& name,
                            const std::string& begun_at) {
  const std::string target = name.Resource();
  const Operation* newest = nullptr;
  for (const Operation& operation : operations) {
    if (operation.target != target || operation.verb != "create") continue;
    // The clocks of the service and of this machine need not agree: what still runs is ours, since
    // nobody else can have begun it while we did; what is over may be an older one.
    if (operation.done && ToSeconds(operation.create_time) < ToSeconds(begun_at)) continue;
    if (newest == nullptr || newest->create_time < operation.create_time) newest = &operation;
  }
  return newest;
}

NodeName NameOf(const PodSpec& pod) {
  return {pod.project, pod.zone, pod.node_id};
}
NodeName NameOf(const PodRecord& record) {
  return {record.project, record.zone, record.node_id};
}
NodeName NameOf(const PodRecord& record, const DeposedNode& deposed) {
  return {record.project, record.zone, deposed.node_id};
}

void TakeObserved(const Value& node, PodRecord* record) {
  const std::string uid = NodeUid(node);
  if (record->uid != uid) {
    record->host_keys.clear();
    record->host_keys_source.clear();
  }
  record->uid = uid;
  record->observed = ObservedFacts(node);
  record->exists = true;
}

void ForgetNode(const std::string& address, State* state) {
  const auto it = state->pods.find(address);
  if (it == state->pods.end()) return;
  std::erase_if(state->steps, [&](const auto& step) { return step.second.pod == address; });
  PodRecord& record = it->second;
  if (record.deposed.empty()) {
    state->pods.erase(it);
    return;
  }
  record.exists = false;
  record.uid.clear();
  record.pending.reset();
  record.observed = Value();
  record.host_keys.clear();
  record.host_keys_source.clear();
}

void ForgetDeposed(const std::string& address, const std::string& node_id, State* state) {
  const auto it = state->pods.find(address);
  if (it == state->pods.end()) return;
  PodRecord& record = it->second;
  std::erase_if(record.deposed,
                [&](const DeposedNode& deposed) { return deposed.node_id == node_id; });
  const bool empty = !record.exists && !record.pending && record.deposed.empty();
  if (empty) ForgetNode(address, state);
}

bool ReinstateDeposed(PodRecord* record) {
  if (record->deposed.empty()) return false;
  const DeposedNode old = record->deposed.back();
  record->deposed.pop_back();
  record->node_id = old.node_id;
  if (record->wanted_node_id == old.node_id) record->wanted_node_id.clear();
  record->uid = old.uid;
  record->pending = old.pending;
  record->exists = true;
  return true;
}

Result<Observation> Observe(const Spec& spec, const State& state, Provider& provider,
                            int parallelism, std::stop_token stop, bool refresh) {
  Observation observation;
  if (!refresh) Remember(state, &observation);
  Collector collector(provider, observation, std::move(stop));
  if (auto done = collector.Run(FirstErrands(spec, state, refresh), parallelism); !done) {
    return done.error();
  }
  if (auto done = LookForCreates(state, collector, observation, parallelism); !done) {
    return done.error();
  }
  return observation;
}

State Settle(State state, const Observation& observation, std::vector<std::string>* notes) {
  Settlement(state, observation, *notes).Run();
  return state;
}

}  // namespace podctl
