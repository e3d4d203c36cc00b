#include "plans/kinds/pod/backings/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plans/kinds/pod/backings/survey.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/route.h"
#include "plans/kinds/pod/tasks.h"
#include "plans/kinds/pod/unaccounted_nodes.h"
#include "providers/base/ssh_key_lines.h"
#include "providers/slices.h"

namespace podctl {
namespace {

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

}  // namespace

void NodeBacking::Remember(const PodRecord& record, PodSurvey* seen) const {
  const auto add = [&](const NodeName& name, Value node) {
    seen->nodes[name] = std::move(node);
    seen->remembered.insert(name);
  };
  if (record.exists() && !record.pending()) add(NameOf(record), RememberedNode(record));
  for (const Object& deposed : record.deposed) {
    if (deposed.pending()) continue;
    Value node;
    node.Set("name", NameOf(record, deposed).Resource());
    node.Set("id", deposed.uid);
    add(NameOf(record, deposed), std::move(node));
  }
}

std::optional<Diagnostic> NodeBacking::WhyTaken(const PodSpec& pod, const Address& address,
                                                const PodSurvey& survey, const State& state,
                                                const StatePlace& place) const {
  const NodeName name = NameOf(pod);
  const Value* node = survey.Find(name);
  // The first node of those that it stands for.
  const Value* one = survey.Find(name.slices > 1 ? SliceName(name, 0) : name);
  if (node == nullptr && one == nullptr) return std::nullopt;
  const bool going = IsGoing(node) || IsGoing(one);
  Diagnostic taken{
      .summary = fmt::format("a node named `{}` {} {}", pod.node_id,
                             going ? "is still being deleted in" : "already exists in", pod.zone),
      .place = pod.place,
      .context = address.Text(),
      .detail = going ? GoingHint("nodeId")
                      : NameConflictHint(pod, address, node == nullptr ? one : node, state, place)};
  for (const auto& [other, record] : Pods(state)) {
    if (NameOf(record) != name || other == address) continue;
    taken.detail = fmt::format(
        "It is {} in the state. Keep that name, say that it moved with `moved: [{{from: {}, to: "
        "{}}}]`, or give this pod a `nodeId` of its own.",
        other, other, address);
  }
  return taken;
}

bool NodeBacking::MayBeTaken(const PodRecord& record) const {
  return podctl::TermsOf(record.applied["schedulingConfig"]).spot;
}

Terms NodeBacking::TermsOf(const PodSpec& pod) const {
  return podctl::TermsOf(pod.node["schedulingConfig"]);
}

std::unique_ptr<Task> NodeBacking::Create(const PodSpec& pod, CreateKind kind,
                                          TaskContext& context) const {
  const bool seeks = kind == CreateKind::kNew || kind == CreateKind::kResume;
  if (pod.capacity && seeks) return MakeCapacityTask(pod, kind, context);
  return MakeCreateTask(pod, kind, context, nullptr);
}

std::unique_ptr<Task> NodeBacking::Delete(const Address& address, bool forget,
                                          TaskContext& context) const {
  return MakeDeleteTask(address, forget, context);
}

std::vector<Endpoint> NodeBacking::EndpointsOf(const PodRecord& record) const {
  std::vector<Endpoint> all;
  const Value::List& endpoints = record.observed["networkEndpoints"].AsList();
  const std::size_t stride = EndpointsPerWorker(record.observed);
  const Value::List& slices = record.observed["slices"].AsList();
  const auto per_slice = static_cast<std::size_t>(WorkersPerSlice(record.observed));
  for (std::size_t i = 0; i + stride <= endpoints.size(); i += stride) {
    const std::size_t worker = i / stride;
    Endpoint endpoint{endpoints[i]["ipAddress"].AsString(),
                      endpoints[i]["accessConfig"]["externalIp"].AsString(),
                      {}};
    std::string uid = record.current.uid;
    // Where one slice shows fewer workers than another, it is not known whose the last ones are.
    if (per_slice > 0) {
      const std::size_t slice = worker / per_slice;
      uid = slice < slices.size() ? slices[slice]["id"].AsString() : "";
    }
    if (!uid.empty()) {
      endpoint.gcloud_alias =
          fmt::format("tpu.{}-{}", uid, per_slice > 0 ? worker % per_slice : worker);
    }
    all.push_back(std::move(endpoint));
  }
  return all;
}

Result<std::vector<WorkerAttributes>> NodeBacking::AskWorkers(Provider& provider,
                                                              const PodRecord& record,
                                                              std::stop_token stop) const {
  return provider.InVersion(record.api_version)
      .GetGuestAttributes(NameOf(record), AttributesQuery(record.ssh), std::move(stop));
}

namespace {

class NodeSurvey final : public KindSurvey {
 public:
  NodeSurvey(const SurveyInput& input, BackedPods pods) : input_(input), pods_(std::move(pods)) {}

  std::vector<Query> Next(Observation* observation) override {
    PodSurvey& seen = PodsIn(observation);
    switch (round_++) {
      case 0:
        AskFirst(&seen);
        break;
      case 1:
        AskForOperations(seen);
        break;
      case 2:
        TakeCreates(&seen);
        break;
      default:
        return {};
    }
    if (queries_.empty()) return Next(observation);
    return std::exchange(queries_, {});
  }

 private:
  // With what the state has under way in that zone, which nobody can know the end of now.
  Error InZone(const Error& error, const std::string& cannot, const std::string& project,
               const std::string& zone) const {
    std::string hint = error.hint;
    if (error.code != ErrorCode::kCancelled) {
      const std::string pending = PendingHint(input_.state, project, zone, input_.flags);
      if (!pending.empty()) hint += (hint.empty() ? "" : "\n") + pending;
    }
    return MakeError(error.code, fmt::format("{}: {}", cannot, error.message), hint);
  }

  template <typename Call, typename Take>
  void Ask(Call call, Take take) {
    queries_.push_back(MakeQuery(std::move(call), std::move(take)));
  }

  void List(const ZoneName& zone, ApiVersion version) {
    ListPrefetch* prefetch = version == ApiVersion::kV2 ? input_.prefetch : nullptr;
    Ask(
        [=](Provider& provider, const std::stop_token& stop) {
          return prefetch != nullptr
                     ? prefetch->ListNodes(zone.first, zone.second, stop)
                     : provider.InVersion(version).ListNodes(zone.first, zone.second, stop);
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
          return provider.InVersion(version).GetOperation(name, stop);
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
          return provider.InVersion(version).ListOperations(zone.first, zone.second, stop);
        },
        [this](Result<std::vector<Operation>>& operations, PodSurvey*) -> Result<void> {
          if (!operations) return {};  // not everybody may; the node itself tells in the end
          std::move(operations->begin(), operations->end(), std::back_inserter(listed_));
          return {};
        });
  }

  void Get(const NodeName& name, ApiVersion version) {
    Ask(
        [=](Provider& provider, const std::stop_token& stop) {
          return provider.InVersion(version).GetNode(name, stop);
        },
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

  // Everything there is; or only what an earlier run left open, beside what is remembered.
  void AskFirst(PodSurvey* seen) {
    const bool refresh = input_.refresh;
    if (refresh) {
      for (const auto& [zone, version] : ZonesOf(pods_)) List(zone, version);
    }
    const auto follow = [&](const std::optional<PendingAction>& pending, const NodeName& name,
                            ApiVersion version) {
      if (!pending) return;
      if (!pending->operation.empty()) {
        LookUp(pending->operation, ZoneName(name.project, name.zone), version);
      }
      if (!refresh) Get(name, version);
    };
    for (const PodRecord* record : pods_.known) {
      if (!refresh) BackingOf(*record).Remember(*record, seen);
      follow(record->pending(), NameOf(*record), record->api_version);
      for (const Object& deposed : record->deposed) {
        follow(deposed.pending(), NameOf(*record, deposed), record->api_version);
      }
    }
  }

  // A create that was begun and whose node is not in the list: the list may lag behind, and a run
  // that was killed before it heard the answer does not even know the operation's name.
  void AskForOperations(const PodSurvey& seen) {
    std::map<ZoneName, ApiVersion> zones;
    for (const PodRecord* record : pods_.known) {
      if (!IsUnheard(*record) || seen.Find(NameOf(*record)) != nullptr) continue;
      missing_.push_back(record);
      if (!IsUnanswered(*record)) continue;
      ApiVersion& version = zones[{record->project, record->zone}];
      version = std::max(version, record->api_version);
    }
    for (const auto& [zone, version] : zones) ListOperations(zone, version);
  }

  // What the node comes through tells what became of the request: it need not be guessed.
  static bool IsUnanswered(const PodRecord& record) {
    return record.pending()->operation.empty() && record.auxiliary.empty();
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

  const SurveyInput input_;
  const BackedPods pods_;
  int round_ = 0;
  std::vector<Query> queries_;
  std::vector<const PodRecord*> missing_;
  std::vector<Operation> listed_;  // a zone whose operations may not be listed has none
};

}  // namespace

std::unique_ptr<KindSurvey> NodeBacking::Survey(const SurveyInput& input, BackedPods pods) const {
  return std::make_unique<NodeSurvey>(input, std::move(pods));
}

}  // namespace podctl
