#include "plans/kinds/pod/shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plans/engine/overlay.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/step/runtime_unit.h"
#include "plans/spec/references.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/available_types.h"
#include "state/thing_name.h"

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

namespace {

void SayReplacement(const Change& change, const PodChange& pod, ChangeWords* words) {
  words->says_why = change.reason_code == ReasonCode::kByRequest;
  if (change.reason_code != ReasonCode::kTainted || !pod.node_state) return;
  words->says_why = true;
  words->headline = fmt::format("is {}, so must be replaced",
                                *pod.node_state == "DELETING" ? "being deleted" : *pod.node_state);
}

void SayPower(const PodChange& pod, ChangeWords* words) {
  if (!pod.power) return;
  const bool stops = *pod.power == Power::kStop;
  if (!pod.fields.empty()) {
    words->headline =
        stops ? "will be updated in-place, then stopped" : "will be started, then updated in-place";
    words->action = stops ? "update in-place, then stop" : "start, then update in-place";
    return;
  }
  words->headline = stops ? "will be stopped" : "will be started";
  words->action = stops ? "stop" : "start";
  words->doing = stops ? "Stopping" : "Starting";
  words->still = stops ? "Still stopping" : "Still starting";
  words->done = stops ? "Stopped" : "Started";
}

const std::string& FlagsEntry() {
  static const std::string kEntry = std::string("metadata.") + kRuntimeVariablesKey;
  return kEntry;
}

// On several hosts one would expect a restart, which such an image has no need of.
std::string WhoTakesFlags(const Change& change, const PodChange& pod) {
  const bool flags =
      std::any_of(change.attributes.begin(), change.attributes.end(),
                  [](const auto& attribute) { return attribute.path == FlagsEntry(); });
  const Value& node = pod.wanted.node;
  if (!flags || IsDelete(change) || gcp::ExpectedWorkers(node).value_or(1) < 2) return {};
  const auto unit = ImageHasRuntimeUnit(node["runtimeVersion"].AsString());
  if (!unit || *unit) return {};
  return "no tpu-runtime on this image: what podctl starts takes these variables";
}

// Of a pod that keeps its node: one would expect that to be run now.
std::string WhenScriptRuns(const Change& change) {
  const bool script =
      change.verb == Verb::kUpdate &&
      std::any_of(change.attributes.begin(), change.attributes.end(),
                  [](const AttributeChange& attribute) {
                    return attribute.path == "metadata.startup-script" && attribute.after;
                  });
  return script ? "startup-script runs at the next boot of each worker, not now" : "";
}

std::string NotesOf(const Change& change, const PodChange& pod) {
  const std::string flags = WhoTakesFlags(change, pod);
  const std::string script = WhenScriptRuns(change);
  return flags + (flags.empty() || script.empty() ? "" : "; ") + script;
}

}  // namespace

ChangeWords WordsOfPod(const Change& change) {
  ChangeWords words;
  if (IsKeep(change) && change.previous_address.empty()) return words;
  const PodChange& pod = *AsPod(change);
  words.title = fmt::format("{} (node {} in {})", change.address.WithoutDeposed(), pod.node.node,
                            pod.node.zone);
  if (IsReplace(change)) SayReplacement(change, pod, &words);
  if (change.verb == Verb::kUpdate) SayPower(pod, &words);
  // Nothing is sent: it is gone already.
  if (change.verb == Verb::kForget) words.While("Forgetting", "Still forgetting", "Forgotten");
  words.note = NotesOf(change, pod);
  return words;
}

namespace {

// As the spec has it, where that is a switch or a number.
Value FlagValue(std::string_view path, const std::string& text) {
  if (IsFlagPath(path)) {
    if (text == "true" || text == "false") return Value(text == "true");
    const auto number = ParseNumber<std::int64_t>(text);
    if (number && std::to_string(*number) == text) return Value(*number);
  }
  return Value(text);
}

struct FlagSides {
  RuntimeParts before;
  RuntimeParts after;
};

// nullopt: it is another line, or has to stay one.
std::optional<FlagSides> TakeApart(const AttributeChange& attribute) {
  if (attribute.path != FlagsEntry() || attribute.sensitive || !attribute.known) {
    return std::nullopt;
  }
  const auto side = [](const std::optional<Value>& value) {
    return value ? TakeRuntimeVariablesApart(value->AsString()) : RuntimeParts();
  };
  auto before = side(attribute.before);
  auto after = side(attribute.after);
  if (!before || !after) return std::nullopt;
  return FlagSides{*std::move(before), *std::move(after)};
}

std::vector<AttributeChange> LinesOfFlags(const FlagSides& sides) {
  std::vector<AttributeChange> lines;
  const auto add = [&](const std::string& path, const std::string* before,
                       const std::string* after) {
    if (before != nullptr && after != nullptr && *before == *after) return;
    AttributeChange line{.path = path};
    if (before != nullptr) line.before = FlagValue(path, *before);
    if (after != nullptr) line.after = FlagValue(path, *after);
    lines.push_back(std::move(line));
  };
  EachOf(sides.before.by_path, sides.after.by_path, add);
  const auto rest = [](const RuntimeParts& parts) {
    return parts.rest.empty() ? nullptr : &parts.rest;
  };
  if (rest(sides.before) != nullptr || rest(sides.after) != nullptr) {
    add(FlagsEntry() + " (the rest)", rest(sides.before), rest(sides.after));
  }
  return lines;
}

}  // namespace

bool IsFlagPath(std::string_view path) {
  return path.starts_with(kRuntimeFlagsKey) &&
         path.substr(kRuntimeFlagsKey.size()).starts_with('.');
}

bool SaysTheSame(const AttributeChange& attribute) {
  if (!attribute.before || !attribute.after) return false;
  const auto sides = TakeApart(attribute);
  return sides && sides->before == sides->after;
}

std::vector<AttributeChange> WithFlagsApart(const std::vector<AttributeChange>& attributes) {
  std::vector<AttributeChange> lines;
  for (const AttributeChange& attribute : attributes) {
    const auto sides = TakeApart(attribute);
    auto parts = sides ? LinesOfFlags(*sides) : std::vector<AttributeChange>();
    if (parts.empty()) parts = {attribute};
    std::move(parts.begin(), parts.end(), std::back_inserter(lines));
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.path < b.path; });
  return lines;
}

std::string FlagsThatChange(const std::vector<AttributeChange>& attributes) {
  const auto entry =
      std::find_if(attributes.begin(), attributes.end(),
                   [](const AttributeChange& attribute) { return attribute.path == FlagsEntry(); });
  if (entry == attributes.end()) return {};
  const std::vector<AttributeChange> lines = WithFlagsApart({*entry});
  const std::string& first = lines.front().path;
  if (first.starts_with(FlagsEntry())) return kRuntimeVariablesKey + std::string(" changes");
  if (lines.size() == 1) return first + " changes";
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> names;
  for (const AttributeChange& line : lines) {
    if (names.size() < kMostNamed) names.push_back(line.path);
  }
  const std::size_t more = lines.size() - names.size();
  if (more > 0) return fmt::format("{} and {} more change", Join(names, ", "), more);
  const std::string last = std::exchange(names.back(), {});
  names.pop_back();
  return fmt::format("{} and {} change", Join(names, ", "), last);
}

namespace {

constexpr const char* kHidden = "(sensitive value)";

const Value* Nowhere(const Address& /*of*/) {
  return nullptr;
}

bool HasReferences(const std::string& text) {
  return !FindReferences(text).empty();
}

class Particulars {
 public:
  explicit Particulars(const PodSpec& pod) : pod_(pod) {}

  std::vector<Particular> Take() {
    Text("project", pod_.project);
    Text("nodeId (of the spec)", pod_.wanted_node_id);
    Text("apiVersion", pod_.api_version ? std::string(ApiVersionName(*pod_.api_version)) : "");
    Text("desiredState", pod_.desired_state.value_or(""));
    AddTemplates("", pod_.node);
    AddMetadata();
    AddRuntime();
    AddSsh();
    AddLifecycle();
    AddWaits();
    std::vector<std::string> needed;
    for (const Address& address : pod_.depends_on) needed.push_back(address.Text());
    List("dependsOn", needed);
    return std::move(all_);
  }

 private:
  void Text(const char* path, const std::string& text) {
    if (!text.empty()) all_.push_back({path, text});
  }
  void Flag(const char* path, bool is_so, const char* word) {
    if (is_so) all_.push_back({path, word});
  }
  void List(const char* path, const std::vector<std::string>& items) {
    Text(path, Join(items, ", "));
  }
  void Wait(const char* path, const std::optional<std::chrono::milliseconds>& wait) {
    if (wait) all_.push_back({path, FormatDuration(*wait)});
  }

  // What references stand in is shown as known after apply.
  void AddTemplates(const std::string& path, const Value& value) {
    if (value.is_string() && HasReferences(value.AsString())) {
      all_.push_back({path, value.AsString()});
    }
    for (std::size_t i = 0; i < value.AsList().size(); ++i) {
      AddTemplates(fmt::format("{}[{}]", path, i), value.AsList()[i]);
    }
    for (const auto& [key, member] : value.AsMap()) {
      AddTemplates(path.empty() ? key : path + "." + key, member);
    }
  }

  void AddMetadata() {
    for (const auto& [key, entry] : pod_.metadata) {
      if (entry.secret) all_.push_back({fmt::format("metadata.{}.secret", key), *entry.secret});
      if (entry.sensitive || !HasReferences(entry.text)) continue;
      all_.push_back({"metadata." + key, entry.text});
    }
  }

  // They are shown as the metadata entry that is made of them, where it is.
  void AddRuntime() {
    const auto entry = pod_.metadata.find(kRuntimeVariablesKey);
    const bool hidden = entry != pod_.metadata.end() && entry->second.sensitive;
    const bool shown = entry != pod_.metadata.end() &&
                       entry->second.text == ComposeRuntimeVariables(pod_.runtime_env);
    if (shown) return;
    for (const auto& [name, text] : pod_.runtime_env) {
      all_.push_back({"runtimeEnv." + name, hidden ? kHidden : text});
    }
  }

  void AddSsh() {
    const SshSettings& ssh = pod_.ssh;
    Text("ssh.user", ssh.user);
    if (ssh.port != SshSettings().port) Text("ssh.port", std::to_string(ssh.port));
    Text("ssh.identityFile", ssh.identity_file);
    Flag("ssh.address", ssh.internal_address, "internal");
    Flag("ssh.address", ssh.external_address.value_or(false), "external");
    Flag("ssh.hostKeys", ssh.strict_host_keys, "strict");
    Text("ssh.transport", ssh.transport.value_or(""));
    Text("ssh.proxyJump", ssh.proxy_jump.value_or(""));
    Flag("ssh.iap", ssh.iap.value_or(false), "true");
    Flag("ssh.publishKey", !pod_.publish_ssh_key, "false");
    Flag("ssh.check", !pod_.check_ready, "false");
    Flag("ssh.check", pod_.probe_ready.value_or(false), "probe");
    Text("ssh: name for OS Login", ssh.os_login_user.value_or(""));
  }

  void AddLifecycle() {
    const LifecycleSpec& lifecycle = pod_.lifecycle;
    Flag("lifecycle.preventDestroy", lifecycle.prevent_destroy, "true");
    Flag("lifecycle.createBeforeDestroy", lifecycle.create_before_destroy, "true");
    List("lifecycle.ignoreChanges", lifecycle.ignore_changes);
    List("lifecycle.replaceTriggeredBy", lifecycle.replace_triggered_by);
    Flag("onPreemption", pod_.recreate_when_lost, "recreate");
    Wait("ttl", pod_.ttl);
    if (pod_.idle) Wait("idle.after", pod_.idle->after);
    if (pod_.idle) Flag("idle.then", pod_.idle->then == IdleSpec::Then::kStop, "stop");
    if (pod_.idle) Flag("idle.then", pod_.idle->then == IdleSpec::Then::kDelete, "delete");
  }

  void AddWaits() {
    Wait("timeouts.queue", pod_.queue_timeout);
    Wait("timeouts.create", pod_.create_timeout);
    Wait("timeouts.boot", pod_.boot_timeout);
    if (pod_.capacity) {
      List("capacity.zones", pod_.capacity->zones);
      if (pod_.capacity->retry.count() > 0) Wait("capacity.retry", pod_.capacity->retry);
    }
  }

  const PodSpec& pod_;
  std::vector<Particular> all_;
};

// What NotePod would write of a pod that stays as it is.
bool ChangesBookkeeping(const PodSpec& pod, const AnyRecord* prior) {
  if (prior == nullptr) return true;
  const PodRecord& before = prior->As<PodRecord>();
  PodRecord after = before;
  TakeBookkeeping(pod, Nowhere, &after);
  // References may be read from what the plan does not hold.
  after.exec_env.insert(before.exec_env.begin(), before.exec_env.end());
  return !(after == before);
}

}  // namespace

std::vector<Particular> ParticularsOfPod(const Change& change, const AnyRecord* prior) {
  const PodSpec& pod = AsPod(change)->wanted;
  if (IsDelete(change) || (IsKeep(change) && !ChangesBookkeeping(pod, prior))) return {};
  return Particulars(pod).Take();
}

namespace {

// What a pod that is added or destroyed has to have in common with another to be the same one.
using Likeness = std::vector<std::string>;

Likeness LikenessOf(const Change& change) {
  const NodeName& node = AsPod(change)->node;
  Likeness likeness = {node.project, node.zone};
  for (const AttributeChange& attribute : change.attributes) {
    if (!attribute.path.starts_with("accelerator")) continue;
    const auto& side = IsDelete(change) ? attribute.before : attribute.after;
    if (side) likeness.push_back(attribute.path + "=" + ToJson(*side));
  }
  return likeness.size() > 2 ? likeness : Likeness();  // of what accelerator nothing is known
}

// Those of one likeness.
struct Likely {
  std::vector<const Change*> added;
  std::vector<const Change*> destroyed;
};

// With a `nodeId` of its own in the spec it would be replaced under its new name, too.
bool CanBeMoved(const Change& from, const Change& to) {
  const PodSpec& wanted = AsPod(to)->wanted;
  return (!wanted.node_id_given || wanted.node_id == AsPod(from)->node.node) &&
         IsThingName(from.address.name) && IsThingName(to.address.name);
}

}  // namespace

std::string MoveHint(const Plan& plan) {
  if (plan.mode != PlanMode::kNormal) return {};
  std::map<Likeness, Likely> alike;
  for (const Change& change : plan.changes) {
    if (AsPod(change) == nullptr || !change.address.deposed.empty()) continue;
    const bool added = change.verb == Verb::kCreate && !change.begun;
    if (!added && change.verb != Verb::kDelete) continue;
    Likeness likeness = LikenessOf(change);
    if (likeness.empty()) continue;
    Likely& likely = alike[std::move(likeness)];
    (added ? likely.added : likely.destroyed).push_back(&change);
  }
  std::string pairs;
  for (const auto& [likeness, likely] : alike) {
    if (likely.added.size() != 1 || likely.destroyed.size() != 1) continue;
    const Change& from = *likely.destroyed.front();
    const Change& to = *likely.added.front();
    if (!CanBeMoved(from, to)) continue;
    pairs +=
        fmt::format("{}{{from: {}, to: {}}}", pairs.empty() ? "" : ", ", from.address, to.address);
  }
  if (pairs.empty()) return {};
  return fmt::format("Only renamed? `moved: [{}]` in the spec keeps the node.", pairs);
}

}  // namespace podctl
