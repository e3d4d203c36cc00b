#include "plans/kinds/pod/refresh.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "plans/kinds/pod/list_ahead.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/unknown_fate.h"
#include "providers/base/ssh_key_lines.h"
#include "providers/gcp/queued_resource.h"
#include "providers/slices.h"

namespace podctl {
namespace {

// With what `state` has under way there, which nobody can know the end of now.
Error InZone(const Error& error, const State& state, const std::string& flags,
             const std::string& cannot, const std::string& project, const std::string& zone) {
  std::string hint = error.hint;
  if (error.code != ErrorCode::kCancelled) {
    const std::string pending = PendingHint(state, project, zone, flags);
    if (!pending.empty()) hint += (hint.empty() ? "" : "\n") + pending;
  }
  return MakeError(error.code, fmt::format("{}: {}", cannot, error.message), hint);
}

// What one thread works off.
struct Errand {
  enum class Kind { kList, kOperation, kOperations, kNode, kQueue, kQueued, kThing };
  Kind kind = Kind::kList;
  ZoneName zone;          // kList, kOperation, kOperations, kQueue
  std::string operation;  // kOperation
  NodeName node;          // kNode
  ApiVersion version = ApiVersion::kV2;
  QueuedName queued = {};  // kQueued
  Address address = {};    // kThing
  Look look = {};          // kThing
};

class Collector {
 public:
  Collector(Provider& provider, const State& state, const std::string& flags, ListAhead* ahead,
            Observation& observation, std::stop_token stop)
      : provider_(provider),
        ahead_(ahead),
        state_(state),
        flags_(flags),
        observation_(observation),
        stop_(std::move(stop)) {}

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
        case Errand::Kind::kQueue:
          ListQueue(errand);
          break;
        case Errand::Kind::kQueued:
          GetQueued(errand);
          break;
        case Errand::Kind::kThing:
          LookAt(errand.address, errand.look);
          break;
      }
    }
  }

  Provider& Cloud(const Errand& errand) { return provider_.Speaking(errand.version); }

  void List(const Errand& errand) {
    const ZoneName& zone = errand.zone;
    const bool begun = ahead_ != nullptr && errand.version == ApiVersion::kV2;
    auto nodes = begun ? ahead_->ListNodes(zone.first, zone.second, stop_)
                       : Cloud(errand).ListNodes(zone.first, zone.second, stop_);
    std::lock_guard lock(mutex_);
    if (!nodes) {
      errors_.push_back(
          InZone(nodes.error(), state_, flags_,
                 fmt::format("cannot list the nodes of {} in {}", zone.first, zone.second),
                 zone.first, zone.second));
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
      const ZoneName& zone = errand.zone;
      errors_.push_back(InZone(operation.error(), state_, flags_,
                               fmt::format("cannot look up {}", name), zone.first, zone.second));
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
      errors_.push_back(InZone(node.error(), state_, flags_,
                               fmt::format("cannot look at {}", name.Resource()), name.project,
                               name.zone));
    }
  }

  void ListQueue(const Errand& errand) {
    const ZoneName& zone = errand.zone;
    QueuedResources* queue = Cloud(errand).queued();
    if (queue == nullptr) return;
    auto found = queue->List(zone.first, zone.second, stop_);
    std::lock_guard lock(mutex_);
    if (!found) {
      const Error& error = found.error();
      errors_.push_back(MakeError(error.code,
                                  fmt::format("cannot list the queued resources of {} in {}: {}",
                                              zone.first, zone.second, error.message),
                                  error.hint));
      return;
    }
    for (Value& queued : *found) {
      QueuedName name{zone.first, zone.second, gcp::QueuedId(queued)};
      observation_.queued[std::move(name)] = std::move(queued);
    }
  }

  void GetQueued(const Errand& errand) {
    const QueuedName& name = errand.queued;
    QueuedResources* queue = Cloud(errand).queued();
    if (queue == nullptr) return;
    auto queued = queue->Get(name, stop_);
    std::lock_guard lock(mutex_);
    if (queued) {
      observation_.queued[name] = std::move(*queued);
    } else if (queued.error().code != ErrorCode::kNotFound) {
      const Error& error = queued.error();
      errors_.push_back(MakeError(
          error.code, fmt::format("cannot look at {}: {}", name.Resource(), error.message),
          error.hint));
    }
  }

  void LookAt(const Address& address, const Look& look) {
    auto seen = look(provider_, stop_);
    std::lock_guard lock(mutex_);
    if (seen || seen.error().code == ErrorCode::kNotFound) {
      observation_.seen[address] = seen ? *std::move(seen) : Value();
    } else if (seen.error().code != ErrorCode::kUnimplemented) {
      const Error& error = seen.error();
      errors_.push_back(MakeError(
          error.code, fmt::format("cannot look at {}: {}", address, error.message), error.hint));
    }
  }

  Provider& provider_;
  ListAhead* const ahead_;
  const State& state_;
  const std::string& flags_;
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

// A node as the state remembers it.
Value RememberedNode(const PodRecord& record) {
  Value node = record.applied.is_map() ? record.applied : Value::EmptyMap();
  for (const auto& [key, fact] : record.observed.AsMap()) node.Set(key, fact);
  Value metadata = Value::EmptyMap();
  for (const auto& [key, value] : record.metadata) metadata.Set(key, value);
  if (const std::string keys = RememberedKeys(record); !keys.empty()) metadata.Set(kSshKeys, keys);
  node.Set("metadata", std::move(metadata));
  node.Set("name", NameOf(record).Resource());
  node.Set("id", record.current.uid);
  return node;
}

void Remember(const State& state, Observation* observation) {
  const auto add = [&](const NodeName& name, Value node) {
    observation->nodes[name] = std::move(node);
    observation->remembered.insert(name);
  };
  for (const auto& [address, record] : Pods(state)) {
    if (record.exists() && !record.pending()) add(NameOf(record), RememberedNode(record));
    if (record.queued && !record.pending()) {
      Value queued = Value::EmptyMap();
      queued.Set("name", QueuedNameOf(record).Resource());
      queued.SetPath("state.state", record.queued->state);
      observation->queued[QueuedNameOf(record)] = std::move(queued);
    }
    for (const Object& deposed : record.deposed) {
      if (deposed.pending()) continue;
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
  for (const auto& [address, record] : Pods(state)) {
    add(record.project, record.zone, record.api_version);
  }
  return zones;
}

// What is looked at first: everything there is, or only what an earlier run left open.
std::vector<Errand> FirstErrands(const Spec& spec, const State& state, bool refresh) {
  std::vector<Errand> errands;
  if (refresh) {
    const std::map<ZoneName, ApiVersion> zones = ZonesOf(spec, state);
    for (const auto& [zone, version] : zones) {
      errands.push_back({Errand::Kind::kList, zone, {}, {}, version});
    }
    std::set<ZoneName> queues;
    const auto visit = [&](const auto& pod) {
      if (pod.queued) queues.emplace(pod.project, pod.zone);
    };
    for (const PodSpec& pod : spec.pods) visit(pod);
    for (const auto& [address, record] : Pods(state)) visit(record);
    for (const ZoneName& zone : queues) {
      errands.push_back({Errand::Kind::kQueue, zone, {}, {}, zones.at(zone)});
    }
  }
  const auto follow = [&](const std::optional<PendingAction>& pending, const NodeName& name,
                          ApiVersion version) {
    if (!pending) return;
    if (!pending->operation.empty()) {
      const ZoneName zone(name.project, name.zone);
      errands.push_back({Errand::Kind::kOperation, zone, pending->operation, {}, version});
    }
    if (!refresh) errands.push_back({Errand::Kind::kNode, {}, {}, name, version});
  };
  for (const auto& [address, record] : Pods(state)) {
    follow(record.pending(), NameOf(record), record.api_version);
    if (!refresh && record.pending() && record.queued) {
      errands.push_back(
          {Errand::Kind::kQueued, {}, {}, {}, record.api_version, QueuedNameOf(record)});
    }
    for (const Object& deposed : record.deposed) {
      follow(deposed.pending(), NameOf(record, deposed), record.api_version);
    }
  }
  return errands;
}

// Of the things of `kinds`, declared or remembered.
void AddLooks(const Spec& spec, const State& state, Kinds kinds, bool refresh,
              std::vector<Errand>* errands) {
  const auto add = [&](const Kind* kind, const Address& address, const Declared* declared,
                       const AnyRecord* record) {
    auto look = kind->Looks(declared, record, refresh);
    if (!look) return;
    Errand errand;
    errand.kind = Errand::Kind::kThing;
    errand.address = address;
    errand.look = *std::move(look);
    errands->push_back(std::move(errand));
  };
  std::set<Address> named;
  for (const Declared& declared : spec.declared) {
    const auto record = state.records.find(declared.address);
    named.insert(declared.address);
    add(declared.wanted.kind(), declared.address, &declared,
        record == state.records.end() ? nullptr : &record->second);
  }
  for (const auto& [address, record] : state.records) {
    const Kind* kind = FindKind(kinds, address.kind);
    if (kind != nullptr && !named.contains(address)) add(kind, address, nullptr, &record);
  }
}

// A create that was begun and whose node is not in the list: the list may lag behind, and a run
// that was killed before it heard the answer does not even know the operation's name.
Result<void> LookForCreates(const State& state, Collector& collector, Observation& observation,
                            int parallelism) {
  std::map<ZoneName, ApiVersion> zones;
  std::vector<Errand> errands;
  std::vector<const PodRecord*> open;
  for (const auto& [address, record] : Pods(state)) {
    if (!IsUnheard(record) || observation.Find(NameOf(record)) != nullptr) continue;
    // A queued resource's request may be repeated: what became of it need not be guessed.
    if (record.pending()->operation.empty() && !record.queued) {
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
        FindCreate(collector.listed(), NameOf(*record), record->pending()->begun_at);
    if (newest == nullptr) continue;
    observation.begun[NameOf(*record)] = newest->name;
    observation.operations[newest->name] = *newest;
  }
  // After the operations: one that is done by now has left its node.
  return collector.Run(std::move(errands), parallelism);
}

// Slices of the state that the service does not show. While their request is being fulfilled they
// are still to come.
void CountSlices(const State& state, Observation* observation) {
  for (const auto& [address, record] : Pods(state)) {
    if (!record.queued || record.queued->slices < 2) continue;
    const auto node = observation->nodes.find(NameOf(record));
    if (node == observation->nodes.end() || !IsJoined(node->second)) continue;
    ExpectSlices(&node->second, record.queued->slices);
    const Value* queued = observation->FindQueued(record);
    const auto phase =
        queued == nullptr ? gcp::QueuedPhase::kActive : gcp::PhaseOf(gcp::QueuedState(*queued));
    const bool coming =
        phase == gcp::QueuedPhase::kQueued || phase == gcp::QueuedPhase::kProvisioning;
    if (coming && NodeState(node->second) == kMissingSlice) node->second.Set("state", "CREATING");
  }
}

}  // namespace

const Value* Observation::Find(const NodeName& name) const {
  auto it = nodes.find(name);
  return it == nodes.end() ? nullptr : &it->second;
}

const Value* Observation::Seen(const Address& address) const {
  const auto found = seen.find(address);
  return found == seen.end() ? nullptr : &found->second;
}

const Value* Observation::FindQueued(const PodRecord& record) const {
  if (!record.queued) return nullptr;
  const auto it = queued.find(QueuedNameOf(record));
  return it == queued.end() ? nullptr : &it->second;
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

QueuedName QueuedNameOf(const PodSpec& pod) {
  const bool named = pod.queued && !pod.queued->id.empty();
  return {pod.project, pod.zone, named ? pod.queued->id : pod.node_id};
}
QueuedName QueuedNameOf(const PodRecord& record) {
  return {record.project, record.zone, record.queued ? record.queued->id : record.current.locator};
}
NodeName NameOf(const PodSpec& pod) {
  return {pod.project, pod.zone, pod.node_id, pod.queued ? pod.queued->slices : 1};
}
NodeName NameOf(const PodRecord& record) {
  return {record.project, record.zone, record.current.locator,
          record.queued ? record.queued->slices : 1};
}
NodeName NameOf(const PodRecord& record, const Object& deposed) {
  return {record.project, record.zone, deposed.locator};
}

Result<Observation> Observe(const Spec& spec, const State& state, Provider& provider,
                            int parallelism, std::stop_token stop, bool refresh,
                            const std::string& flags, ListAhead* ahead, Kinds kinds) {
  Observation observation;
  if (!refresh) Remember(state, &observation);
  Collector collector(provider, state, flags, ahead, observation, std::move(stop));
  std::vector<Errand> errands = FirstErrands(spec, state, refresh);
  AddLooks(spec, state, kinds, refresh, &errands);
  if (auto done = collector.Run(std::move(errands), parallelism); !done) {
    return done.error();
  }
  if (auto done = LookForCreates(state, collector, observation, parallelism); !done) {
    return done.error();
  }
  CountSlices(state, &observation);
  return observation;
}

}  // namespace podctl
