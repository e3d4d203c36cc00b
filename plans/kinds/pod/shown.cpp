#include "plans/kinds/pod/shown.h"

#include <algorithm>
#include <string>

#include "plans/engine/overlay.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/record.h"

namespace podctl {
namespace {

// What the service decides when a node is made.
constexpr const char* kComputed[] = {"id", "state", "networkEndpoints", "createTime"};
constexpr const char* kOutputs[] = {"id",         "state",  "networkEndpoints",
                                    "createTime", "health", "healthDescription"};

void MergeUnder(Value* target, const Value& below) {
  for (const auto& [key, value] : below.AsMap()) {
    if (target->Find(key) == nullptr) target->Set(key, value);
  }
}

bool IsSensitive(const PodRecord& record, const std::string& key) {
  return std::count(record.sensitive_keys.begin(), record.sensitive_keys.end(), key) > 0;
}

void SetPlace(const NodeName& name, ShownObject* object) {
  object->values.Set("project", name.project);
  object->values.Set("zone", name.zone);
  object->values.Set("nodeId", name.node);
}

const PodRecord* Find(const State& state, const Change& change) {
  for (const Address& address :
       {change.address, change.previous_address, change.address.WithoutDeposed()}) {
    if (const PodRecord* record = Pods(state).Get(address)) return record;
  }
  return nullptr;
}

// A node that is made: what the service decides is not known yet.
ShownObject Made(const PodSpec& pod, const PodRecord* record, const Change& change) {
  ShownObject made;
  made.values = Value::EmptyMap();
  if (record != nullptr) {  // a replacement lists only what differs
    made = ObjectOf(*record);
    for (const char* output : kOutputs) made.values.Erase(output);
  }
  SetPlace({pod.project, pod.zone, pod.node_id}, &made);
  Overlay(change.attributes, Side::kAfter, &made);
  for (const char* computed : kComputed) made.unknown.Set(computed, true);
  return made;
}

}  // namespace

ShownObject ObjectOf(const PodRecord& record) {
  ShownObject object;
  object.values = record.applied.is_map() ? record.applied : Value::EmptyMap();
  MergeUnder(&object.values, record.observed);
  SetPlace({record.project, record.zone, record.current.locator}, &object);
  if (!record.current.uid.empty()) object.values.Set("id", record.current.uid);
  for (const auto& [key, value] : record.metadata) {
    const bool hidden = IsSensitive(record, key);
    PutAt(&object.values, "metadata." + key, hidden ? Value(kRedacted) : Value(value));
    if (hidden) PutAt(&object.sensitive, "metadata." + key, Value(true));
  }
  for (const AttributeChange& key : KeyAttributes(RememberedKeys(record))) {
    PutAt(&object.values, key.path, key.after);
  }
  return object;
}

ShownSides SidesOfPod(const Change& change, const State& state) {
  const PodChange& pod = *AsPod(change);
  ShownSides sides;
  const PodRecord* record = change.verb == Verb::kCreate ? nullptr : Find(state, change);
  if (record != nullptr) {
    sides.before = ObjectOf(*record);
    Overlay(change.attributes, Side::kBefore, &sides.before);
    SetPlace({record->project, record->zone, record->current.locator}, &sides.before);
  }
  if (IsDelete(change)) {
    if (!change.address.deposed.empty()) SetPlace(pod.node, &sides.before);
    return sides;
  }
  if (Makes(change)) {
    sides.after = Made(pod.wanted, record, change);
  } else {
    sides.after = sides.before;
    Overlay(change.attributes, Side::kAfter, &sides.after);
  }
  return sides;
}

std::vector<Configured> ConfiguredPod(const Change& change) {
  const PodSpec& pod = AsPod(change)->wanted;
  std::vector<Configured> all;
  Configured own{PodAddress(pod.name), pod.node, pod.depends_on};
  if (!own.values.is_map()) own.values = Value::EmptyMap();
  Value metadata = Value::EmptyMap();
  for (const auto& [key, entry] : pod.metadata) {
    if (!entry.sensitive) metadata.MutableMap()[key] = Value(entry.text);
  }
  if (!metadata.AsMap().empty()) own.values.Set("metadata", std::move(metadata));
  all.push_back(std::move(own));
  for (const StepSpec& step : pod.bootstrap) {
    Value values = Value::EmptyMap();
    if (!step.xrt_version.empty()) {
      values.Set("xrt_version", step.xrt_version);
    } else if (!step.sensitive) {
      values.Set("script", step.run);
    }
    all.push_back({StepAddress(pod.name, step.name), std::move(values), {PodAddress(pod.name)}});
  }
  return all;
}

}  // namespace podctl
