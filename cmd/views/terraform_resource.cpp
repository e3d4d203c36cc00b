#include "cmd/views/terraform_resource.h"

#include <algorithm>
#include <set>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/spec.h"
#include "providers/base/text.h"
#include "providers/bootstrap/step_runner.h"
#include "providers/provider.h"

namespace podctl {
namespace {

// As terraform writes its own built-in provider: there is no registry to look it up in.
constexpr std::string_view kProviderName = "terraform.io/builtin/podctl";

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

// A path of an AttributeChange: below metadata and labels one key, which may hold a dot.
std::vector<std::string> Steps(const std::string& path) {
  for (const std::string map : {"metadata.", "labels."}) {
    if (path.starts_with(map)) return {map.substr(0, map.size() - 1), path.substr(map.size())};
  }
  std::vector<std::string> steps;
  std::size_t begin = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    steps.push_back(path.substr(begin, dot - begin));
    begin = dot + 1;
  }
  steps.push_back(path.substr(begin));
  return steps;
}

// Puts `value` at the end of `steps`, or takes away what is there.
void Put(Value* target, const std::vector<std::string>& steps, const std::optional<Value>& value) {
  Value* at = target;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (!value && at->Find(steps[i]) == nullptr) return;
    at = &at->MutableMap()[steps[i]];
    if (!at->is_map()) *at = Value::EmptyMap();
  }
  if (value) {
    at->MutableMap()[steps.back()] = *value;
  } else {
    at->Erase(steps.back());
  }
}

enum class Side { kBefore, kAfter };

void Overlay(const std::vector<AttributeChange>& attributes, Side side, TerraformObject* object) {
  for (const AttributeChange& attribute : attributes) {
    const auto steps = Steps(attribute.path);
    if (side == Side::kAfter && !attribute.known) {
      Put(&object->values, steps, std::nullopt);
      Put(&object->unknown, steps, Value(true));
      if (attribute.sensitive) Put(&object->sensitive, steps, Value(true));
      continue;
    }
    const auto& value = side == Side::kBefore ? attribute.before : attribute.after;
    const bool hidden = value && attribute.sensitive;
    Put(&object->values, steps, hidden ? std::optional<Value>(kRedacted) : value);
    Put(&object->sensitive, steps, hidden ? std::optional<Value>(true) : std::nullopt);
  }
}

void SetPlace(const NodeName& name, TerraformObject* object) {
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
TerraformObject Made(const PodSpec& pod, const PodRecord* record, const Change& change) {
  TerraformObject made;
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

Value WorkerList(const std::set<int>& workers) {
  Value::List list;
  for (int worker : workers) list.emplace_back(worker);
  return Value(std::move(list));
}

std::set<int> AppliedWorkers(const StepRecord* record) {
  std::set<int> workers;
  if (record == nullptr) return workers;
  for (const auto& [worker, applied] : record->workers) workers.insert(worker);
  return workers;
}

std::string StepName(const Address& address) {
  return address.name.substr(address.name.rfind('.') + 1);
}

const char* KindName(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::kScript:
      return "script";
    case Step::Kind::kRestartRuntime:
      return "restart-tpu-runtime";
    case Step::Kind::kReadiness:
      return "readiness";
    case Step::Kind::kRequestXrt:
      return "request-xrt";
  }
  return "";
}

TerraformObject StepAfter(const Address& address, const StepChange& run, const StepRecord* record) {
  TerraformObject after;
  after.values = Value::EmptyMap();
  after.values.Set("pod", PodAddress(PodNameOf(address)).Text());
  after.values.Set("step", StepName(address));
  after.values.Set("kind", KindName(run.step.kind));
  std::set<int> workers = AppliedWorkers(record);
  if (run.workers) {
    after.values.Set("run_on", WorkerList({run.workers->begin(), run.workers->end()}));
    workers.insert(run.workers->begin(), run.workers->end());
    after.values.Set("workers", WorkerList(workers));
  } else {
    after.unknown.Set("run_on", true);
    after.unknown.Set("workers", true);
  }
  const auto hide = [&](const char* key, Value value) {
    if (run.sensitive) after.sensitive.Set(key, true);
    after.values.Set(key, run.sensitive ? Value(kRedacted) : std::move(value));
  };
  if (run.step.kind == Step::Kind::kScript) hide("script", run.step.script);
  if (run.step.kind == Step::Kind::kRequestXrt) after.values.Set("xrt_version", run.step.script);
  Value env = Value::EmptyMap();
  for (const auto& [name, text] : run.step.env) env.MutableMap()[name] = Value(text);
  hide("env", std::move(env));
  Value::List files;
  for (const StepFile& file : run.step.files) {
    Value entry;
    entry.Set("source", file.source);
    entry.Set("destination", file.destination);
    files.push_back(std::move(entry));
  }
  after.values.Set("files", std::move(files));
  return after;
}

TerraformSides SidesOfStep(const Address& address, const StepChange& run, const State& state) {
  const StepRecord* known = Steps(state).Get(address);
  TerraformSides sides;
  if (known != nullptr) sides.before = ObjectOf(address, *known);
  sides.after = StepAfter(address, run, known);
  return sides;
}

}  // namespace

TerraformObject ObjectOf(const PodRecord& record) {
  TerraformObject object;
  object.values = record.applied.is_map() ? record.applied : Value::EmptyMap();
  MergeUnder(&object.values, record.observed);
  SetPlace({record.project, record.zone, record.current.locator}, &object);
  if (!record.current.uid.empty()) object.values.Set("id", record.current.uid);
  for (const auto& [key, value] : record.metadata) {
    const bool hidden = IsSensitive(record, key);
    Put(&object.values, {"metadata", key}, hidden ? Value(kRedacted) : Value(value));
    if (hidden) Put(&object.sensitive, {"metadata", key}, Value(true));
  }
  for (const AttributeChange& key : KeyAttributes(RememberedKeys(record))) {
    Put(&object.values, Steps(key.path), key.after);
  }
  return object;
}

TerraformObject ObjectOf(const Address& address, const StepRecord& record) {
  TerraformObject object;
  object.values = Value::EmptyMap();
  object.values.Set("pod", record.pod.Text());
  object.values.Set("step", StepName(address));
  object.values.Set("workers", WorkerList(AppliedWorkers(&record)));
  return object;
}

namespace {

TerraformSides SidesOfThing(const Kind& kind, const Change& change, const State& state) {
  TerraformSides sides;
  const auto record = state.records.find(change.address);
  if (record != state.records.end() && change.verb != Verb::kCreate) {
    sides.before = record->second.codec().Shown(record->second);
  }
  if (IsKeep(change)) {
    sides.after = sides.before;
  } else if (!IsDelete(change)) {
    sides.after = kind.After(change);
  }
  return sides;
}

}  // namespace

TerraformSides SidesOf(const Change& change, const State& state) {
  if (const auto* run = AsStep(change)) return SidesOfStep(change.address, *run, state);
  const PodChange* pod = AsPod(change);
  if (pod == nullptr) return SidesOfThing(*change.payload.kind(), change, state);
  TerraformSides sides;
  const PodRecord* record = change.verb == Verb::kCreate ? nullptr : Find(state, change);
  if (record != nullptr) {
    sides.before = ObjectOf(*record);
    Overlay(change.attributes, Side::kBefore, &sides.before);
    SetPlace({record->project, record->zone, record->current.locator}, &sides.before);
  }
  if (IsDelete(change)) {
    if (!change.address.deposed.empty()) SetPlace(pod->node, &sides.before);
    return sides;
  }
  if (Makes(change)) {
    sides.after = Made(pod->wanted, record, change);
  } else {
    sides.after = sides.before;
    Overlay(change.attributes, Side::kAfter, &sides.after);
  }
  return sides;
}

TerraformSides SidesOf(const Drift& drift, const State& state) {
  TerraformSides sides;
  const auto there = state.records.find(drift.address);
  if (there == state.records.end()) return sides;
  const PodRecord* record = Pods(state).Get(drift.address);
  sides.before = record == nullptr ? there->second.codec().Shown(there->second) : ObjectOf(*record);
  if (drift.kind == Drift::Kind::kVanished) return sides;
  sides.after = sides.before;
  Overlay(drift.attributes, Side::kBefore, &sides.before);
  Overlay(drift.attributes, Side::kAfter, &sides.after);
  if (drift.kind == Drift::Kind::kUnhealthy) {
    sides.before.values.Set("health", "HEALTHY");
    sides.before.values.Erase("healthDescription");
  } else if (drift.kind != Drift::Kind::kChanged) {
    sides.before.values.Set("state", "READY");
  }
  return sides;
}

bool IsPartOfReplacement(const Change& change, const Plan& plan) {
  if (!IsDelete(change) || change.address.deposed.empty()) return false;
  const Address pod = change.address.WithoutDeposed();
  const auto& waits_for = change.waits_for;
  return std::count(waits_for.begin(), waits_for.end(), pod) > 0 &&
         std::any_of(plan.changes.begin(), plan.changes.end(), [&](const Change& other) {
           return other.address == pod && other.verb == Verb::kCreateThenDelete;
         });
}

Value TerraformName(const Address& address) {
  Value name;
  name.Set("address", address.WithoutDeposed().Text());
  name.Set("mode", "managed");
  name.Set("type", address.kind);
  name.Set("name", address.name);
  name.Set("provider_name", kProviderName);
  if (!address.deposed.empty()) name.Set("deposed", address.deposed);
  return name;
}

}  // namespace podctl
