#include "plans/kinds/pod/reader/pod_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/reader/capacity_reader.h"
#include "plans/kinds/pod/reader/metadata_reader.h"
#include "plans/kinds/pod/reader/node_fields.h"
#include "plans/kinds/pod/reader/pod_shape.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/reader.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/local_files.h"
#include "plans/spec/names.h"
#include "providers/gcp/available_types.h"
#include "state/jump_host.h"
#include "state/state.h"
#include "state/thing_name.h"

namespace podctl {
namespace {

// What gcloud and Compute Engine call otherwise than the API's Node does, and no typo of it.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"version", "runtimeVersion"},
    {"accelerator", "acceleratorType"},
    {"machineType", "acceleratorType"},
    {"externalIps", "networkConfig.enableExternalIps"},
    {"internalIps", "networkConfig.enableExternalIps"},
    {"startupScript", "metadata.startup-script"},
    {"startup-script", "metadata.startup-script"},
    {"shutdown-script", "metadata.shutdown-script"},
};

std::string OtherName(std::string_view word) {
  for (const auto& [other, name] : kOtherNames) {
    if (other == word) return std::string(name);
  }
  return {};
}

// A key of `lifecycle`, put one level too high, perhaps as terraform spells it; "": it is none.
std::string LifecycleKeyOf(std::string_view word) {
  const std::vector<std::string> keys = LifecycleShape().Names();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const std::string& key) {
    return BareWord(key) == BareWord(word);
  });
  return found == keys.end() ? "" : *found;
}

// `spot` belongs into `schedulingConfig`: a key of a message, put one level too high.
void ReportUnknown(ValueReader& reader, const YamlNode& key, const Slot& slot) {
  if (const std::string below = LifecycleKeyOf(key.text); !below.empty()) {
    reader.Error(key, slot, fmt::format("unknown key {}", FoundWords(key)),
                 fmt::format("it belongs under `lifecycle:`, as `lifecycle.{}`", below));
    return;
  }
  std::string elsewhere;
  if (!reader.has_enough()) elsewhere = OtherName(key.text);
  if (!reader.has_enough() && elsewhere.empty()) elsewhere = FindMemberElsewhere(key.text);
  if (!elsewhere.empty()) {
    reader.Error(key, slot, fmt::format("unknown key {}", FoundWords(key)),
                 fmt::format("did you mean `{}`?", elsewhere));
    return;
  }
  reader.UnknownKey(key, slot.context, PodShape().Names());
}

// The service knows accelerator types in lower case, and gcloud sends them so.
void LowerCaseType(Value& node) {
  const std::string& type = node["acceleratorType"].AsString();
  if (type.empty() || type.find("${") != std::string::npos) return;
  std::string lower = type;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  node.Set("acceleratorType", std::move(lower));
}

std::optional<int> ReadPort(const std::string& text) {
  int port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, port);
  if (code != std::errc() || rest != end || port < 1 || port > SshShape().At("port").max) {
    return std::nullopt;
  }
  return port;
}

}  // namespace

std::optional<Address> ReadPodAddress(std::string_view text) {
  auto address = ParseAddress(text);
  if (!address || address->kind != kPodKind || !IsThingName(address->name)) return std::nullopt;
  if (!address->key.empty() || !address->deposed.empty()) return std::nullopt;
  return address;
}

PodSpec PodReader::Read(const YamlNode& key, const YamlNode& map) {
  PodSpec pod;
  pod.name = key.text;
  pod.place = key.Place();
  const Slot slot{section_.key, key.text};
  const std::string context = slot.Path();
  pod.node.MutableMap();
  if (!IsThingName(key.text)) {
    reader_.Error(key, slot, fmt::format("{} is no name for a pod", FoundWords(key)),
                  "letters, digits, - and _; `nodeId` may be another");
  }
  if (!reader_.ExpectMap(map, slot)) return pod;
  ReadPortOfAll(key, slot, pod);
  ReadKeys(map, context, pod);
  LowerCaseType(pod.node);
  CheckNodeRules(reader_, key, map, context, pod.node, pod.api_version.value_or(ApiVersion::kV2));
  QueueReader(reader_, pod).Check(map, context);
  CheckIdle(map, context, pod);
  PublishKeysReader(reader_, files_, pod).Check(map, context);
  if (map.Find("nodeId") == nullptr) {
    pod.node_id = pod.name;
    if (IsThingName(pod.name)) CheckNodeId(reader_, key, slot, pod.node_id);
  }
  const auto settle = [&](const char* what, const std::optional<std::string>& usual,
                          std::string* target) {
    if (map.Find(what) != nullptr) return;
    *target = usual.value_or("");
    if (!usual) section_.lacks->emplace_back(what);
  };
  settle("project", section_.project, &pod.project);
  settle("zone", section_.zone, &pod.zone);
  CapacityReader(reader_, pod).Check(map, context);
  return pod;
}

// Where all workers answer on another port than 22, as those of an ordinary user's emulator do.
void PodReader::ReadPortOfAll(const YamlNode& key, const Slot& slot, PodSpec& pod) {
  const std::string port = reader_.environment().Get("PODCTL_SSH_PORT").value_or("");
  if (port.empty()) return;
  if (const auto number = ReadPort(port)) {
    pod.ssh.port = *number;
  } else {
    reader_.Error(key, slot, fmt::format("PODCTL_SSH_PORT is \"{}\"", port),
                  "it must be the port where workers answer SSH, 1 to 65535");
  }
}

void PodReader::CheckDefaults(const YamlNode& defaults) {
  if (!reader_.ExpectMap(defaults, {"", "defaults"})) return;
  PodSpec scratch;
  ReadKeys(defaults, "defaults", scratch);
}

void PodReader::ReadKeys(const YamlNode& map, const std::string& context, PodSpec& pod) {
  for (const YamlEntry& entry : map.entries) {
    const std::string& key = entry.key->text;
    const Slot slot{context, key};
    const gcp::Field* field =
        key.find('.') == std::string::npos ? gcp::FindNodeField(key) : nullptr;
    if (key == "metadata" || key == "libtpuFlags" || key == "runtimeEnv") continue;
    if (const Key* own = OwnKeys().Find(key)) {
      ReadOwnKey(entry, slot, own->shape, pod);
    } else if (field == nullptr) {
      ReportUnknown(reader_, *entry.key, slot);
    } else if (field->field_class == gcp::FieldClass::kOutputOnly) {
      ReportOutputOnly(reader_, *field, *entry.key, slot);
    } else if (auto value = ReadNodeField(reader_, *field, entry, slot)) {
      pod.node.Set(key, std::move(*value));
      if (key == "acceleratorType") pod.type_place = entry.value->Place();
      if (key == "runtimeVersion") pod.version_place = entry.value->Place();
    }
  }
  MetadataReader(reader_, files_, pod).Read(map, context);
}

void PodReader::ReadOwnKey(const YamlEntry& entry, const Slot& slot, const Shape& shape,
                           PodSpec& pod) {
  const std::string& key = entry.key->text;
  const YamlNode& value = *entry.value;
  if (key == "nodeId") {
    const auto id = reader_.ReadPlain(value, slot);
    pod.node_id_given = true;
    if (id && CheckNodeId(reader_, value, slot, *id)) pod.node_id = *id;
  } else if (key == "project") {
    const auto project = reader_.ReadPlain(value, slot);
    if (project && CheckProject(reader_, value, slot, *project)) pod.project = *project;
  } else if (key == "zone") {
    const auto zone = reader_.ReadPlain(value, slot);
    if (zone && CheckZone(reader_, value, slot, *zone)) pod.zone = *zone;
  } else if (key == "apiVersion") {
    ReadApiVersion(entry, slot, shape, pod);
  } else if (key == "desiredState") {
    pod.desired_state = reader_.ReadWord(value, slot, shape);
  } else if (key == "ssh") {
    ReadSsh(value, slot, pod);
  } else if (key == "bootstrap") {
    pod.bootstrap = ReadSteps(reader_, files_, entry, slot);
  } else if (key == "lifecycle") {
    ReadLifecycle(value, slot, pod);
  } else if (key == "queuedResource") {
    QueueReader(reader_, pod).ReadQueuedResource(entry, slot);
  } else if (key == "timeouts") {
    QueueReader(reader_, pod).ReadTimeouts(value, slot);
  } else if (key == "tunnels") {
    pod.tunnels = ReadTunnels(reader_, value, slot);
  } else if (key == "capacity") {
    CapacityReader(reader_, pod).ReadCapacity(entry, slot);
  } else if (key == "onPreemption") {
    CapacityReader(reader_, pod).ReadOnPreemption(value, slot);
  } else if (key == "ttl") {
    pod.ttl = ReadEnd(value, slot);
  } else if (key == "idle") {
    ReadIdle(value, slot, pod);
  } else if (key == "slices") {
    return;  // with what it needs (QueueReader::Check)
  } else {
    ReadDependsOn(value, slot);
  }
}

// nullopt after a report. What is shorter is over before the pod can be used.
std::optional<std::chrono::milliseconds> PodReader::ReadEnd(const YamlNode& node,
                                                            const Slot& slot) {
  const auto duration = reader_.ReadDuration(node, slot);
  if (!duration || *duration >= std::chrono::minutes(1)) return duration;
  reader_.Error(node, slot, fmt::format("{} is too short", FoundWords(node)), "1m or more");
  return std::nullopt;
}

void PodReader::ReadIdle(const YamlNode& node, const Slot& slot, PodSpec& pod) {
  IdleSpec idle;
  std::optional<std::chrono::milliseconds> after;
  const auto read_then = [&](const YamlNode& value, const Slot& at) {
    const auto word = reader_.ReadWord(value, at, IdleShape().At("then"));
    if (word == "stop") idle.then = IdleSpec::Then::kStop;
    if (word == "delete") idle.then = IdleSpec::Then::kDelete;
  };
  const bool is_map = reader_.ReadMap(
      node, slot, IdleShape(),
      {{"after", [&](const YamlNode& value, const Slot& at) { after = ReadEnd(value, at); }},
       {"then", read_then}});
  if (!is_map) return;
  if (node.Find("after") == nullptr) {
    reader_.Error(node, slot, "`idle` has no `after`", "how long: `idle: {after: 30m}`");
  }
  if (!after) return;
  idle.after = *after;
  pod.idle = idle;
}

// What can be stopped is known when all keys are read.
void PodReader::CheckIdle(const YamlNode& map, const std::string& context, const PodSpec& pod) {
  if (!pod.idle || pod.idle->then != IdleSpec::Then::kStop) return;
  const YamlNode& key = *map.Find("idle")->key;
  const Slot slot{context, "idle"};
  if (pod.desired_state == "STOPPED") {
    reader_.Error(key, slot,
                  "`idle: {then: stop}` does not go together with `desiredState: STOPPED`",
                  "leave one of them out");
  }
  const auto hosts = gcp::ExpectedWorkers(pod.node);
  if (pod.queued || (hosts && *hosts > 1)) {
    reader_.Error(key, slot, "only a node of one host can be stopped", "write `then: delete`");
  }
}

// A node says the same of itself in other words, which `gcloud … describe` prints.
void PodReader::ReadApiVersion(const YamlEntry& entry, const Slot& slot, const Shape& shape,
                               PodSpec& pod) {
  const gcp::Field& of_node = *gcp::FindNodeField("apiVersion");
  if (gcp::IsEnumWord(of_node, entry.value->text)) {
    ReportOutputOnly(reader_, of_node, *entry.key, slot);
    return;
  }
  const auto name = reader_.ReadWord(*entry.value, slot, shape);
  if (name) pod.api_version = ParseApiVersion(*name);
}

void PodReader::ReadSsh(const YamlNode& node, const Slot& slot, PodSpec& pod) {
  if (!reader_.ExpectMap(node, slot)) return;
  for (const YamlEntry& entry : node.entries) {
    const Key* key = reader_.KnownKey(*entry.key, slot.Path(), SshShape());
    if (key != nullptr) ReadSshKey(*entry.value, slot.Below(key->name), key->shape, pod);
  }
  if (const YamlEntry* keys = node.Find("publishKeys")) {  // of `user`, which may stand below it
    PublishKeysReader(reader_, files_, pod).Read(*keys->value, slot.Below("publishKeys"));
  }
  if (pod.ssh.proxy_jump && pod.ssh.iap) {
    reader_.Error(node, slot, "`proxyJump` and `iap` are two ways to the workers",
                  "leave one of them out");
  }
}

void PodReader::ReadSshKey(const YamlNode& value, const Slot& slot, const Shape& shape,
                           PodSpec& pod) {
  const std::string& key = slot.key;
  if (key == "user") {
    const auto user = reader_.ReadPlain(value, slot);
    if (!user) return;
    if (!IsUserName(*user)) {
      reader_.Error(value, slot, fmt::format("{} is no user's name", FoundWords(value)),
                    "letters, digits and - _ .");
    }
    pod.ssh.user = *user;
  } else if (key == "port") {
    pod.ssh.port = static_cast<int>(reader_.ReadInt(value, slot, shape).value_or(pod.ssh.port));
  } else if (key == "identityFile") {
    const auto path = reader_.ReadPlain(value, slot);
    if (path) pod.ssh.identity_file = PathFromSpec(value, *path);
  } else if (key == "address") {
    const auto address = reader_.ReadWord(value, slot, shape);
    pod.ssh.internal_address = address == "internal";
    if (address == "external") pod.ssh.external_address = true;
  } else if (key == "hostKeys") {
    pod.ssh.strict_host_keys = reader_.ReadWord(value, slot, shape) == "strict";
  } else if (key == "transport") {
    if (reader_.ReadWord(value, slot, shape) == "openssh") {
      pod.ssh.transport = "openssh";
    }
  } else if (key == "proxyJump") {
    const auto jump = reader_.ReadPlain(value, slot);
    if (!jump) return;
    if (!ParseJumpHost(*jump)) {
      reader_.Error(value, slot, fmt::format("{} is no host to jump through", FoundWords(value)),
                    "[user@]host[:port], one host");
    }
    pod.ssh.proxy_jump = *jump;
  } else if (key == "iap") {
    if (reader_.ReadBool(value, slot).value_or(false)) pod.ssh.iap = true;
  } else if (key == "publishKey") {
    pod.publish_ssh_key = reader_.ReadBool(value, slot).value_or(true);
    if (!pod.publish_ssh_key) pod.ssh.withhold_key = true;
  } else if (key == "check") {
    ReadCheck(value, slot, pod);
  }  // publishKeys: ReadSsh
}

void PodReader::ReadCheck(const YamlNode& value, const Slot& slot, PodSpec& pod) {
  const auto text =
      value.is_scalar() ? reader_.ReadPlain(value, slot) : std::optional<std::string>("");
  if (!text) return;
  if (!value.is_scalar() || *text == "true" || *text == "false") {
    pod.check_ready = reader_.ReadBool(value, slot).value_or(true);
  } else if (reader_.ReadWord(value, slot, {"true", "false", "probe"})) {
    pod.probe_ready = true;
  }
}

void PodReader::ReadLifecycle(const YamlNode& node, const Slot& slot, PodSpec& pod) {
  if (!reader_.ExpectMap(node, slot)) return;
  for (const YamlEntry& entry : node.entries) {
    const std::string& key = entry.key->text;
    const Slot below = slot.Below(key);
    if (reader_.KnownKey(*entry.key, slot.Path(), LifecycleShape()) == nullptr) continue;
    if (key == "preventDestroy") {
      pod.lifecycle.prevent_destroy = reader_.ReadBool(*entry.value, below).value_or(false);
    } else if (key == "createBeforeDestroy") {
      pod.lifecycle.create_before_destroy = reader_.ReadBool(*entry.value, below).value_or(false);
    } else if (key == "ignoreChanges") {
      ReadIgnoreChanges(*entry.value, below, pod);
    } else {
      ReadTriggers(*entry.value, below, pod);
    }
  }
}

void PodReader::ReadIgnoreChanges(const YamlNode& node, const Slot& slot, PodSpec& pod) {
  if (!reader_.ExpectList(node, slot)) return;
  for (const YamlNodePtr& item : node.items) {
    const auto path = reader_.ReadPlain(*item, slot);
    if (!path) continue;
    if (*path == "libtpuFlags" || *path == "runtimeEnv") {
      reader_.Error(*item, slot, fmt::format("`{}` is no field of a node", *path),
                    "write `metadata.tensorflow-env-vars`");
      continue;
    }
    const PathCheck check = CheckNodePath(*path);
    if (!check.ok) {
      reader_.Error(*item, slot, check.problem, check.suggestion);
    } else if (check.field->field_class == gcp::FieldClass::kOutputOnly) {
      reader_.Error(*item, slot, fmt::format("`{}` is written by the service", *path),
                    "leave it out");
    } else {
      pod.lifecycle.ignore_changes.push_back(*path);
    }
  }
}

// pod.NAME, pod.NAME.PATH or bootstrap.NAME.STEP; whether they exist is seen with the dependencies.
void PodReader::ReadTriggers(const YamlNode& node, const Slot& slot, PodSpec& pod) {
  if (!reader_.ExpectList(node, slot)) return;
  for (const YamlNodePtr& item : node.items) {
    const auto address = reader_.ReadPlain(*item, slot);
    if (!address) continue;
    const auto first = address->find('.');
    const auto second = first == std::string::npos ? first : address->find('.', first + 1);
    const std::string kind = address->substr(0, first);
    const std::string name =
        first == std::string::npos ? "" : address->substr(first + 1, second - first - 1);
    const std::string rest = second == std::string::npos ? "" : address->substr(second + 1);
    const bool whole = second == std::string::npos || !rest.empty();
    if (!IsThingName(name) || !whole ||
        !(kind == "pod" || (kind == "bootstrap" && !rest.empty()))) {
      reader_.Error(*item, slot, fmt::format("{} is no address", FoundWords(*item)),
                    IsThingName(*address) ? fmt::format("did you mean `pod.{}`?", *address)
                                          : "pod.NAME, pod.NAME.FIELD or bootstrap.NAME.STEP");
      continue;
    }
    Diagnostic at = DiagnosticAt(*item, item->Place(), "");
    at.context = slot.context;
    reader_.AddReference({PodAddress(name), kind == "pod" ? rest : "", std::move(at), true,
                          kind == "pod" ? "" : rest});
    pod.lifecycle.replace_triggered_by.push_back(*address);
  }
}

void PodReader::ReadDependsOn(const YamlNode& node, const Slot& slot) {
  if (!reader_.ExpectList(node, slot)) return;
  for (const YamlNodePtr& item : node.items) {
    const auto text = reader_.ReadPlain(*item, slot);
    if (!text) continue;
    const auto address = ReadPodAddress(*text);
    if (!address) {
      reader_.Error(*item, slot, fmt::format("{} is no address of a pod", FoundWords(*item)),
                    IsThingName(*text) ? fmt::format("did you mean `pod.{}`?", *text)
                                       : "such as `pod.other`");
      continue;
    }
    Diagnostic at = DiagnosticAt(*item, item->Place(), "");
    at.context = slot.context;
    reader_.AddReference({*address, "", std::move(at)});
  }
}

namespace {

using gcp::FieldType;

// Why a node's path has no text to put in, or "".
std::string WhyNoText(const std::string& path, const PathCheck& check) {
  if (check.field->path == "metadata") return "metadata may hold secrets";
  const bool is_in_map = check.field->type == FieldType::kStringMap && path != check.field->path;
  const bool is_item = check.field->type == FieldType::kStringList && path.ends_with(']');
  const bool is_scalar =
      check.field->type != FieldType::kMessage && check.field->type != FieldType::kMessageList &&
      check.field->type != FieldType::kStringMap && check.field->type != FieldType::kStringList;
  return is_scalar || is_in_map || is_item ? "" : "it is no single value";
}

// "sshHostKeys[3]": what podctl knows of the pod besides its node.
bool IsHostKey(const std::string& path) {
  const std::string begin = std::string(kHostKeysMember) + "[";
  const std::size_t digits = path.size() - begin.size() - 1;
  constexpr std::size_t kMostDigits = 6;
  return path.starts_with(begin) && path.ends_with(']') && digits >= 1 && digits <= kMostDigits &&
         std::all_of(path.begin() + static_cast<std::ptrdiff_t>(begin.size()), path.end() - 1,
                     [](char c) { return c >= '0' && c <= '9'; });
}

// `trigger`: it is looked at for a change, and its value is put in no text.
std::optional<ReferenceProblem> CheckPath(const std::string& path, bool trigger) {
  if (path == "libtpuFlags" || path == "runtimeEnv") {
    return ReferenceProblem{fmt::format("`{}` is no field of a node", path),
                            "write `metadata.tensorflow-env-vars`"};
  }
  if (!trigger && IsHostKey(path)) return std::nullopt;
  if (!trigger && path.starts_with(kHostKeysMember)) {
    return ReferenceProblem{fmt::format("`{}` cannot be put in a text", path),
                            fmt::format("one worker's: `{}[0]`", kHostKeysMember)};
  }
  const PathCheck check = CheckNodePath(path);
  if (!check.ok) return ReferenceProblem{check.problem, check.suggestion};
  const std::string why = trigger ? "" : WhyNoText(path, check);
  if (why.empty()) return std::nullopt;
  return ReferenceProblem{fmt::format("`{}` cannot be put in a text", path), why};
}

// podctl's own step, which every pod of several workers has, can be named as well.
std::optional<ReferenceProblem> CheckStep(const std::string& step, const PodSpec& pod) {
  std::vector<std::string> names = {std::string(kRuntimeStepName)};
  for (const StepSpec& each : pod.bootstrap) names.push_back(each.name);
  if (std::find(names.begin(), names.end(), step) != names.end()) return std::nullopt;
  const std::string near = SuggestWord(step, names);
  return ReferenceProblem{
      fmt::format("the pod `{}` has no step `{}`", pod.name, step),
      near.empty() ? "" : fmt::format("did you mean `bootstrap.{}.{}`?", pod.name, near)};
}

}  // namespace

std::optional<ReferenceProblem> CheckPodReference(const FoundReference& reference,
                                                  const PodSpec& pod) {
  std::optional<ReferenceProblem> problem;
  if (!reference.path.empty()) problem = CheckPath(reference.path, reference.trigger);
  if (!problem && !reference.step.empty()) problem = CheckStep(reference.step, pod);
  return problem;
}

std::vector<std::string> PublishedMembers() {
  std::vector<std::string> members;
  for (const gcp::Field& field : gcp::NodeFields()) {
    if (field.path.find('.') == std::string_view::npos) members.emplace_back(field.path);
  }
  members.emplace_back(kHostKeysMember);
  return members;
}

std::vector<Diagnostic> PodsOfOneNode(const std::vector<const Declared*>& pods) {
  std::vector<Diagnostic> conflicts;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const PodSpec*> nodes;
  for (const Declared* declared : pods) {
    const PodSpec& pod = WantedPod(*declared);
    if (pod.project.empty() || pod.zone.empty() || pod.node_id.empty()) continue;
    // With `capacity.zones` the pod may come to be in any of them.
    std::span<const std::string> zones(&pod.zone, 1);
    if (pod.capacity) zones = pod.capacity->zones;
    const auto taken = std::find_if(zones.begin(), zones.end(), [&](const std::string& zone) {
      return nodes.contains({pod.node_id, zone, pod.project});
    });
    if (taken == zones.end()) {
      for (const std::string& zone : zones) nodes[{pod.node_id, zone, pod.project}] = &pod;
      continue;
    }
    const auto it = nodes.find({pod.node_id, *taken, pod.project});
    const bool sure = *taken == pod.zone && it->second->zone == *taken;
    conflicts.push_back(
        {.summary = fmt::format("two pods {} the node `{}` of {} in {}",
                                sure ? "are" : "may become", pod.node_id, pod.project, *taken),
         .place = pod.place,
         .context = "pods",
         .suggestion = "give one of them another `nodeId`",
         .related = {{it->second->place, "", "the other one is here"}}});
  }
  return conflicts;
}

}  // namespace podctl
