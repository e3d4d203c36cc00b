#include "plans/kinds/pod/backings/node.h"

#include <fmt/format.h>

#include <utility>

#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/tasks.h"
#include "plans/kinds/pod/unknown_fate.h"
#include "plans/kinds/pod/way_in.h"
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
  Diagnostic taken;
  taken.summary = fmt::format("a node named `{}` {} {}", pod.node_id,
                              going ? "is still being deleted in" : "already exists in", pod.zone);
  taken.place = pod.place;
  taken.context = address.Text();
  taken.detail = going ? GoingHint("nodeId")
                       : TakenHint(pod, address, node == nullptr ? one : node, state, place);
  for (const auto& [other, record] : Pods(state)) {
    if (NameOf(record) != name || other == address) continue;
    taken.detail = fmt::format(
        "It is {} in the state. Keep that name, say that it moved with `moved: [{{from: {}, to: "
        "{}}}]`, or give this pod a `nodeId` of its own.",
        other, other, address);
  }
  return taken;
}

Terms NodeBacking::TermsOf(const PodSpec& pod) const {
  const Value& scheduling = pod.node["schedulingConfig"];
  const Value& model = scheduling["provisioningModel"];
  Terms terms;
  terms.spot =
      scheduling["spot"].AsBool() || scheduling["preemptible"].AsBool() || model == Value("SPOT");
  terms.reserved = scheduling["reserved"].AsBool() ||
                   scheduling.Find("reservationName") != nullptr ||
                   model == Value("RESERVATION_BOUND");
  return terms;
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

std::unique_ptr<Task> NodeBacking::Patch(const PodSpec& pod, std::vector<std::string> fields,
                                         TaskContext& context) const {
  return MakePatchTask(pod, std::move(fields), context);
}

std::unique_ptr<Task> NodeBacking::Switch(const PodSpec& pod, Power power,
                                          TaskContext& context) const {
  return MakePowerTask(pod, power, context);
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
  return provider.Speaking(record.api_version)
      .GetGuestAttributes(NameOf(record), AttributesQuery(record.ssh), std::move(stop));
}

}  // namespace podctl
