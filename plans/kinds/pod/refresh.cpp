#include "plans/kinds/pod/refresh.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plans/engine/list_ahead.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/unknown_fate.h"
#include "providers/base/ssh_key_lines.h"
#include "providers/gcp/queued_resource.h"
#include "providers/slices.h"

namespace podctl {
namespace {

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

void Remember(const State& state, PodSurvey* seen) {
  const auto add = [&](const NodeName& name, Value node) {
    seen->nodes[name] = std::move(node);
    seen->remembered.insert(name);
  };
  for (const auto& [address, record] : Pods(state)) {
    if (record.exists() && !record.pending()) add(NameOf(record), RememberedNode(record));
    if (record.queued && !record.pending()) {
      Value queued = Value::EmptyMap();
      queued.Set("name", QueuedNameOf(record).Resource());
      queued.SetPath("state.state", record.queued->state);
      seen->queued[QueuedNameOf(record)] = std::move(queued);
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
  for (const PodSpec* pod : DeclaredPods(spec)) {
    add(pod->project, pod->zone, pod->api_version.value_or(ApiVersion::kV2));
  }
  for (const auto& [address, record] : Pods(state)) {
    add(record.project, record.zone, record.api_version);
  }
  return zones;
}

// Slices of the state that the service does not show. While their request is being fulfilled they
// are still to come.
void CountSlices(const State& state, PodSurvey* seen) {
  for (const auto& [address, record] : Pods(state)) {
    if (!record.queued || record.queued->slices < 2) continue;
    const auto node = seen->nodes.find(NameOf(record));
    if (node == seen->nodes.end() || !IsJoined(node->second)) continue;
    ExpectSlices(&node->second, record.queued->slices);
    const Value* queued = seen->FindQueued(record);
    const auto phase =
        queued == nullptr ? gcp::QueuedPhase::kActive : gcp::PhaseOf(gcp::QueuedState(*queued));
    const bool coming =
        phase == gcp::QueuedPhase::kQueued || phase == gcp::QueuedPhase::kProvisioning;
    if (coming && NodeState(node->second) == kMissingSlice) node->second.Set("state", "CREATING");
  }
}

class PodsSurvey final : public KindSurvey {
 public:
  explicit PodsSurvey(const SurveyQuestion& question) : question_(question) {}

  std::vector<Errand> Next(Observation* observation) override {
    PodSurvey& seen = PodsIn(observation);
    switch (round_++) {
      case 0:
        if (!question_.refresh) Remember(question_.state, &seen);
        AskFirst();
        break;
      case 1:
        AskForOperations(seen);
        break;
      case 2:
        TakeCreates(&seen);
        break;
      case 3:
        CountSlices(question_.state, &seen);
        return {};
      default:
        return {};
    }
    if (errands_.empty()) return Next(observation);
    return std::exchange(errands_, {});
  }

 private:
  // With what the state has under way in that zone, which nobody can know the end of now.
  Error InZone(const Error& error, const std::string& cannot, const std::string& project,
               const std::string& zone) const {
    std::string hint = error.hint;
    if (error.code != ErrorCode::kCancelled) {
      const std::string pending = PendingHint(question_.state, project, zone, question_.flags);
      if (!pending.empty()) hint += (hint.empty() ? "" : "\n") + pending;
    }
    return MakeError(error.code, fmt::format("{}: {}", cannot, error.message), hint);
  }

  // An errand that makes `call`, and has what comes of it taken by `take`.
  template <typename Call, typename Take>
  void Ask(Call call, Take take) {
    errands_.push_back([call, take](Provider& provider, std::stop_token stop) -> Sighting {
      // Shared, since a std::function is copied.
      auto answer = std::make_shared<decltype(call(provider, stop))>(call(provider, stop));
      return [take, answer](Observation* observation) -> Result<void> {
        return take(*answer, &PodsIn(observation));
      };
    });
  }

  void List(const ZoneName& zone, ApiVersion version) {
    ListAhead* ahead = version == ApiVersion::kV2 ? question_.ahead : nullptr;
    Ask(
        [=](Provider& provider, const std::stop_token& stop) {
          return ahead != nullptr
                     ? ahead->ListNodes(zone.first, zone.second, stop)
                     : provider.Speaking(version).ListNodes(zone.first, zone.second, stop);
        },
        [this, zone](Result<std::vector<Value>>& nodes, PodSurvey* seen) -> Result<void> {
          const auto& [project, place] = zone;
          if (!nodes) {
            return InZone(nodes.error(),
                          fmt::format("cannot list the nodes of {} in {}", project, place), project,
                          place);
          }
          for (Value& node : *nodes) {
            NodeName name{project, place, NodeId(node)};
            seen->nodes[std::move(name)] = std::move(node);
          }
          return {};
        });
  }

  void LookUp(const std::string& name, const ZoneName& zone, ApiVersion version) {
    Ask(
        [=](Provider& provider, const std::stop_token& stop) {
          return provider.Speaking(version).GetOperation(name, stop);
        },
        [this, name, zone](Result<Operation>& operation, PodSurvey* seen) -> Result<void> {
          if (operation) {
            seen->operations[name] = std::move(*operation);
          } else if (operation.error().code != ErrorCode::kNotFound) {
            return InZone(operation.error(), fmt::format("cannot look up {}", name), zone.first,
                          zone.second);
          }  // a forgotten operation: the list of nodes alone decides
          return {};
        });
  }

  void ListOperations(const ZoneName& zone, ApiVersion version) {
    Ask(
        [=](Provider& provider, const std::stop_token& stop) {
          return provider.Speaking(version).ListOperations(zone.first, zone.second, stop);
        },
        [this](Result<std::vector<Operation>>& operations, PodSurvey*) -> Result<void> {
          if (!operations) return {};  // not everybody may; the node itself tells in the end
          std::move(operations->begin(), operations->end(), std::back_inserter(listed_));
          return {};
        });
  }

  void Get(const NodeName& name, ApiVersion version) {
    Ask([=](Provider& provider,
            const std::stop_token& stop) { return provider.Speaking(version).GetNode(name, stop); },
        [this, name](Result<Value>& node, PodSurvey* seen) -> Result<void> {
          if (node) {
            seen->nodes[name] = std::move(*node);
          } else if (node.error().code != ErrorCode::kNotFound) {
            return InZone(node.error(), fmt::format("cannot look at {}", name.Resource()),
                          name.project, name.zone);
          }
          return {};
        });
  }

  void ListQueue(const ZoneName& zone, ApiVersion version) {
    Ask(
        [=](Provider& provider, const std::stop_token& stop) -> Result<std::vector<Value>> {
          QueuedResources* queue = provider.Speaking(version).queued();
          if (queue == nullptr) return std::vector<Value>();
          return queue->List(zone.first, zone.second, stop);
        },
        [zone](Result<std::vector<Value>>& found, PodSurvey* seen) -> Result<void> {
          if (!found) {
            const Error& error = found.error();
            return MakeError(error.code,
                             fmt::format("cannot list the queued resources of {} in {}: {}",
                                         zone.first, zone.second, error.message),
                             error.hint);
          }
          for (Value& queued : *found) {
            QueuedName name{zone.first, zone.second, gcp::QueuedId(queued)};
            seen->queued[std::move(name)] = std::move(queued);
          }
          return {};
        });
  }

  void GetQueued(const QueuedName& name, ApiVersion version) {
    Ask(
        [=](Provider& provider, const std::stop_token& stop) -> Result<Value> {
          QueuedResources* queue = provider.Speaking(version).queued();
          if (queue == nullptr) return MakeError(ErrorCode::kNotFound, "there is no queue");
          return queue->Get(name, stop);
        },
        [name](Result<Value>& queued, PodSurvey* seen) -> Result<void> {
          if (queued) {
            seen->queued[name] = std::move(*queued);
          } else if (queued.error().code != ErrorCode::kNotFound) {
            const Error& error = queued.error();
            return MakeError(error.code,
                             fmt::format("cannot look at {}: {}", name.Resource(), error.message),
                             error.hint);
          }
          return {};
        });
  }

  // Everything there is, or only what an earlier run left open.
  void AskFirst() {
    const Spec& spec = question_.spec;
    const State& state = question_.state;
    const bool refresh = question_.refresh;
    if (refresh) {
      const std::map<ZoneName, ApiVersion> zones = ZonesOf(spec, state);
      for (const auto& [zone, version] : zones) List(zone, version);
      std::set<ZoneName> queues;
      const auto visit = [&](const auto& pod) {
        if (pod.queued) queues.emplace(pod.project, pod.zone);
      };
      for (const PodSpec* pod : DeclaredPods(spec)) visit(*pod);
      for (const auto& [address, record] : Pods(state)) visit(record);
      for (const ZoneName& zone : queues) ListQueue(zone, zones.at(zone));
    }
    const auto follow = [&](const std::optional<PendingAction>& pending, const NodeName& name,
                            ApiVersion version) {
      if (!pending) return;
      if (!pending->operation.empty()) {
        LookUp(pending->operation, ZoneName(name.project, name.zone), version);
      }
      if (!refresh) Get(name, version);
    };
    for (const auto& [address, record] : Pods(state)) {
      follow(record.pending(), NameOf(record), record.api_version);
      if (!refresh && record.pending() && record.queued) {
        GetQueued(QueuedNameOf(record), record.api_version);
      }
      for (const Object& deposed : record.deposed) {
        follow(deposed.pending(), NameOf(record, deposed), record.api_version);
      }
    }
  }

  // A create that was begun and whose node is not in the list: the list may lag behind, and a run
  // that was killed before it heard the answer does not even know the operation's name.
  void AskForOperations(const PodSurvey& seen) {
    std::map<ZoneName, ApiVersion> zones;
    for (const auto& [address, record] : Pods(question_.state)) {
      if (!IsUnheard(record) || seen.Find(NameOf(record)) != nullptr) continue;
      missing_.push_back(&record);
      if (!IsUnanswered(record)) continue;
      ApiVersion& version = zones[{record.project, record.zone}];
      version = std::max(version, record.api_version);
    }
    for (const auto& [zone, version] : zones) ListOperations(zone, version);
  }

  // A queued resource's request may be repeated: what became of it need not be guessed.
  static bool IsUnanswered(const PodRecord& record) {
    return record.pending()->operation.empty() && !record.queued;
  }

  // After the operations: one that is done by now has left its node.
  void TakeCreates(PodSurvey* seen) {
    for (const PodRecord* record : missing_) {
      Get(NameOf(*record), record->api_version);
      if (!IsUnanswered(*record)) continue;
      const Operation* newest = FindCreate(listed_, NameOf(*record), record->pending()->begun_at);
      if (newest == nullptr) continue;
      seen->begun[NameOf(*record)] = newest->name;
      seen->operations[newest->name] = *newest;
    }
  }

  const SurveyQuestion question_;
  int round_ = 0;
  std::vector<Errand> errands_;
  std::vector<const PodRecord*> missing_;
  std::vector<Operation> listed_;  // a zone whose operations may not be listed has none
};

}  // namespace

const Value* PodSurvey::Find(const NodeName& name) const {
  auto it = nodes.find(name);
  return it == nodes.end() ? nullptr : &it->second;
}

const Value* PodSurvey::FindQueued(const PodRecord& record) const {
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

const PodSurvey& PodsIn(const Observation& observation) {
  static const PodSurvey kNone;
  const auto found = observation.surveys.find(kPodKind);
  const auto* survey = found == observation.surveys.end() ? nullptr : found->second.As<PodSurvey>();
  return survey == nullptr ? kNone : *survey;
}

PodSurvey& PodsIn(Observation* observation) {
  Payload& survey = observation->surveys[std::string(kPodKind)];
  if (survey.As<PodSurvey>() == nullptr) survey = PodSurvey();
  return *survey.Edit<PodSurvey>();
}

std::unique_ptr<KindSurvey> SurveyPods(const SurveyQuestion& question) {
  return std::make_unique<PodsSurvey>(question);
}

}  // namespace podctl
