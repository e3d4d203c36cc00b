#include "plans/kinds/pod/reader/node_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/names.h"
#include "providers/base/text.h"
#include "providers/gcp/available_types.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {
namespace {

using gcp::Field;
using gcp::FieldClass;
using gcp::FieldType;

// Reads one pod's fields; `path` is the field's own ("dataDisks[].mode"), `shown` the user's
// ("dataDisks[0].mode").
class FieldReader {
 public:
  explicit FieldReader(ValueReader& reader) : reader_(reader) {}

  std::optional<Value> Read(const Field& field, const YamlEntry& entry, const Slot& slot) {
    const YamlNode& node = *entry.value;
    switch (field.type) {
      case FieldType::kString:
        return Text(node, slot);
      case FieldType::kBool:
        if (const auto value = reader_.ReadBool(node, slot)) return Value(*value);
        return std::nullopt;
      case FieldType::kInt:
        if (const auto value =
                reader_.ReadInt(node, slot, 0, std::numeric_limits<std::int32_t>::max())) {
          return Value(*value);
        }
        return std::nullopt;
      case FieldType::kInt64:
        if (const auto value =
                reader_.ReadInt(node, slot, 0, std::numeric_limits<std::int64_t>::max())) {
          return Value(std::to_string(*value));
        }
        return std::nullopt;
      case FieldType::kEnum:
        if (auto word = reader_.ReadWord(node, slot, SplitWords(field.enum_values))) {
          return Value(std::move(*word));
        }
        return std::nullopt;
      case FieldType::kStringMap:
        return StringMap(node, slot);
      case FieldType::kStringList:
        return StringList(node, slot);
      case FieldType::kMessage:
        if (!reader_.ExpectMap(node, slot)) return std::nullopt;
        return Message(node, slot, std::string(field.path) + ".");
      case FieldType::kMessageList:
        return MessageList(field, node, slot);
    }
    return std::nullopt;
  }

 private:
  std::optional<Value> Text(const YamlNode& node, const Slot& slot) {
    auto value = reader_.ReadText(node, slot, {.pods = true, .secrets = false});
    if (!value) return std::nullopt;
    return Value(std::move(value->text));
  }

  std::optional<Value> StringMap(const YamlNode& node, const Slot& slot) {
    if (!reader_.ExpectMap(node, slot)) return std::nullopt;
    Value::Map map;
    for (const YamlEntry& entry : node.entries) {
      if (auto text = Text(*entry.value, slot.Below(entry.key->text))) {
        map.emplace(entry.key->text, std::move(*text));
      }
    }
    return Value(std::move(map));
  }

  std::optional<Value> StringList(const YamlNode& node, const Slot& slot) {
    if (!reader_.ExpectList(node, slot)) return std::nullopt;
    Value::List list;
    for (const YamlNodePtr& item : node.items) {
      if (auto text = Text(*item, slot)) list.push_back(std::move(*text));
    }
    return Value(std::move(list));
  }

  std::optional<Value> Message(const YamlNode& node, const Slot& slot, const std::string& prefix) {
    Value::Map members;
    for (const YamlEntry& entry : node.entries) {
      const std::string& key = entry.key->text;
      const Slot below = slot.Below(key);
      const Field* field = gcp::FindNodeField(prefix + key);
      if (field == nullptr) {
        reader_.UnknownKey(*entry.key, slot.Path(), WritableMembers(prefix));
      } else if (field->field_class == FieldClass::kOutputOnly) {
        ReportOutputOnly(reader_, *field, *entry.key, below);
      } else if (auto value = Read(*field, entry, below)) {
        members.emplace(key, std::move(*value));
      }
    }
    // What `gcloud … describe` prints as {} says nothing about the node.
    if (members.empty()) return std::nullopt;
    return Value(std::move(members));
  }

  std::optional<Value> MessageList(const Field& field, const YamlNode& node, const Slot& slot) {
    if (!reader_.ExpectList(node, slot)) return std::nullopt;
    Value::List list;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string index = fmt::format("[{}]", i);
      const Slot below{slot.context, slot.key + index};
      if (!reader_.ExpectMap(*node.items[i], below)) continue;
      auto message = Message(*node.items[i], below, std::string(field.path) + "[].");
      list.push_back(message ? std::move(*message) : Value::EmptyMap());
    }
    return Value(std::move(list));
  }

  ValueReader& reader_;
};

// "dataDisks[0].mode" -> "dataDisks[].mode".
std::string WithoutIndexes(std::string_view path) {
  std::string general;
  bool inside = false;
  for (char c : path) {
    if (c == ']') inside = false;
    if (!inside) general += c;
    if (c == '[') inside = true;
  }
  return general;
}

}  // namespace

std::optional<Value> ReadNodeField(ValueReader& reader, const gcp::Field& field,
                                   const YamlEntry& entry, const Slot& slot) {
  return FieldReader(reader).Read(field, entry, slot);
}

void ReportOutputOnly(ValueReader& reader, const gcp::Field& field, const YamlNode& key,
                      const Slot& slot) {
  reader.Error(key, slot, fmt::format("`{}` is written by the service and cannot be set", key.text),
               field.path == "name" ? "leave it out, or use `nodeId`" : "leave it out");
}

void ReportExclusive(ValueReader& reader, const YamlEntry& entry, const Slot& slot,
                     const YamlEntry& first) {
  reader.Conflict(*entry.key, slot.Below(entry.key->text),
                  fmt::format("`{}` and `{}` exclude each other", first.key->text, entry.key->text),
                  *first.key, fmt::format("`{}` is set here", first.key->text));
}

std::vector<std::string> WritableMembers(std::string_view prefix) {
  std::vector<std::string> names = MembersBelow(gcp::NodeFields(), prefix);
  std::erase_if(names, [&](const std::string& name) {
    const Field* field = gcp::FindNodeField(std::string(prefix) + name);
    return field->field_class == FieldClass::kOutputOnly;
  });
  return names;
}

std::string FindMemberElsewhere(std::string_view word) {
  for (const Field& field : gcp::NodeFields()) {
    if (field.field_class == FieldClass::kOutputOnly) continue;
    const auto dot = field.path.rfind('.');
    if (dot != std::string_view::npos && field.path.substr(dot + 1) == word) {
      return std::string(field.path);
    }
  }
  return {};
}

PathCheck CheckNodePath(std::string_view path) {
  std::string general = WithoutIndexes(path);
  PathCheck check;
  if (general.ends_with("[]")) general.resize(general.size() - 2);  // tags[0]: an item
  if (const Field* field = gcp::FindNodeField(general)) {
    return {true, field, "", ""};
  }
  // A map's keys are free: everything after the map's own name is one.
  const auto dot = path.find('.');
  const Field* head = gcp::FindNodeField(path.substr(0, dot));
  if (head != nullptr && head->type == FieldType::kStringMap && dot != std::string_view::npos) {
    return {true, head, "", ""};
  }
  // The first segment that is not known, with its nearest neighbour.
  std::string_view rest = path;
  std::string prefix;  // of the fields: "networkEndpoints[]."
  std::string shown;   // as it is written: "networkEndpoints[0]."
  while (true) {
    const auto end = rest.find('.');
    const std::string_view segment = rest.substr(0, end);
    const std::string name(segment.substr(0, segment.find('[')));
    const Field* field = gcp::FindNodeField(prefix + name);
    if (field == nullptr) {
      const std::string near = SuggestWord(name, MembersBelow(gcp::NodeFields(), prefix));
      check.problem = fmt::format("a node has no `{}{}`", shown, name);
      if (!near.empty()) check.suggestion = fmt::format("did you mean `{}{}`?", shown, near);
      return check;
    }
    if (field->type == FieldType::kMessageList && segment.size() == name.size()) {
      check.problem = fmt::format("`{}{}` is a list", shown, name);
      check.suggestion = fmt::format("which one? `{}{}[0]`", shown, name);
      return check;
    }
    if (end == std::string_view::npos) break;
    prefix += WithoutIndexes(segment) + ".";
    shown += std::string(segment) + ".";
    rest.remove_prefix(end + 1);
  }
  check.problem = fmt::format("a node has no `{}`", path);
  return check;
}

namespace {

constexpr std::size_t kLongestDescription = 512;  // characters
constexpr std::size_t kLongestLabelPart = 63;     // characters

bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t Characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool HasReference(std::string_view text) {
  return text.find("${") != std::string_view::npos;
}

// Of letters beyond ASCII only the service knows which are lower case.
bool IsLabelText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsLower(c) || IsDigit(c) || c == '_' || c == '-' || (c & 0x80) != 0;
  });
}

std::string AsLabel(std::string_view text) {
  std::string label;
  for (char c : text) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    label += IsLabelText(std::string_view(&lower, 1)) ? lower : '-';
  }
  return label;
}

void CheckLabel(ValueReader& reader, const YamlEntry& entry, const Slot& slot,
                const std::string& value) {
  const std::string& key = entry.key->text;
  const bool starts_well = !key.empty() && (IsLower(key[0]) || (key[0] & 0x80) != 0);
  if (!starts_well || !IsLabelText(key) || Characters(key) > kLongestLabelPart) {
    const std::string better = AsLabel(key);
    const bool is_better = better != key && !better.empty() && IsLower(better[0]);
    reader.Error(*entry.key, slot, fmt::format("{} is no label", FoundWords(*entry.key)),
                 is_better ? fmt::format("did you mean `{}`?", better) : "",
                 "A label begins with a lower-case letter and goes on with lower-case letters, "
                 "digits, _ and -, 63 characters at most.");
  }
  if (HasReference(value)) return;
  if (!IsLabelText(value) || Characters(value) > kLongestLabelPart) {
    const std::string better = AsLabel(value);
    reader.Error(*entry.value, slot,
                 fmt::format("`{}` cannot have the value {}", key, FoundWords(*entry.value)),
                 better != value ? fmt::format("did you mean `{}`?", better) : "",
                 "A label's value consists of lower-case letters, digits, _ and -, 63 characters "
                 "at most.");
  }
}

void CheckLabels(ValueReader& reader, const YamlNode& pod, const std::string& context,
                 const Value& node) {
  const YamlEntry* labels = pod.Find("labels");
  if (labels == nullptr || !labels->value->is_map()) return;
  const Slot slot{context, "labels"};
  for (const YamlEntry& entry : labels->value->entries) {
    if (entry.key->text == kLineageLabel) {
      reader.Error(*entry.key, slot.Below(entry.key->text),
                   fmt::format("`{}` is podctl's own label", kLineageLabel), "",
                   "It holds the lineage of the state that a node was made from. Give this label "
                   "another name.");
    }
    const Value* value = node["labels"].Find(entry.key->text);
    if (value != nullptr) CheckLabel(reader, entry, slot.Below(entry.key->text), value->AsString());
  }
  const std::size_t count = labels->value->entries.size();
  if (count > kMostLabels) {
    reader.Error(*labels->key, slot, fmt::format("{} labels", count),
                 fmt::format("{} at most", kMostLabels));
  }
}

bool IsOctet(std::string_view text) {
  int number = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && rest == text.data() + text.size() && number >= 0 && number <= 255 &&
         IsDigit(text[0]) && text.size() <= 3;
}

bool IsIpv4(std::string_view text) {
  for (int i = 0; i < 3; ++i) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos || !IsOctet(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return IsOctet(text);
}

void CheckTexts(ValueReader& reader, const YamlNode& pod, const std::string& context,
                const Value& node) {
  const std::string& description = node["description"].AsString();
  if (Characters(description) > kLongestDescription && !HasReference(description)) {
    reader.Error(*pod.Find("description")->key, {context, "description"},
                 fmt::format("the description has {} characters", Characters(description)),
                 fmt::format("{} at most", kLongestDescription));
  }
  const std::string& cidr = node["cidrBlock"].AsString();
  if (cidr.empty() || HasReference(cidr)) return;
  const auto slash = cidr.find('/');
  const std::string_view address = std::string_view(cidr).substr(0, slash);
  const std::string_view bits =
      slash == std::string::npos ? "" : std::string_view(cidr).substr(slash + 1);
  if (!IsIpv4(address) || bits != "29") {
    reader.Error(*pod.Find("cidrBlock")->value, {context, "cidrBlock"},
                 fmt::format("`{}` is no /29 block", cidr),
                 IsIpv4(address) ? fmt::format("did you mean `{}/29`?", address)
                                 : "such as `10.240.0.0/29`");
  }
}

void CheckExclusive(ValueReader& reader, const YamlNode& pod, const std::string& context,
                    std::string_view first, std::string_view second) {
  const YamlEntry* a = pod.Find(first);
  const YamlEntry* b = pod.Find(second);
  if (a == nullptr || b == nullptr) return;
  // Written one after the other: the later one is the problem.
  if (a->key->offset > b->key->offset) std::swap(a, b);
  reader.Conflict(*b->key, {context, b->key->text},
                  fmt::format("`{}` and `{}` exclude each other", first, second), *a->key,
                  fmt::format("`{}` is set here", a->key->text));
}

void CheckScheduling(ValueReader& reader, const YamlNode& pod, const std::string& context,
                     const Value& node) {
  const YamlEntry* scheduling = pod.Find("schedulingConfig");
  if (scheduling == nullptr) return;
  const YamlEntry* first = nullptr;
  for (const YamlEntry& entry : scheduling->value->entries) {
    const Value& value = node["schedulingConfig"][entry.key->text];
    if (!value.AsBool()) continue;
    if (first == nullptr) {
      first = &entry;
      continue;
    }
    ReportExclusive(reader, entry, {context, "schedulingConfig"}, *first);
  }
}

// Whether some key of the pod is this one misspelled, which has been reported: then "is missing"
// would only repeat it.
bool IsMisspelled(const YamlNode& pod, const std::string& wanted) {
  constexpr std::size_t kMostKeys = 200;  // more than a pod has: no need to look at each
  if (pod.entries.size() > kMostKeys) return false;
  return std::any_of(pod.entries.begin(), pod.entries.end(), [&](const YamlEntry& entry) {
    return gcp::FindNodeField(entry.key->text) == nullptr &&
           SuggestWord(entry.key->text, {wanted}) == wanted;
  });
}

void CheckAccelerator(ValueReader& reader, const YamlNode& key, const YamlNode& pod,
                      const std::string& context, const Value& node) {
  const YamlEntry* type = pod.Find("acceleratorType");
  const YamlEntry* config = pod.Find("acceleratorConfig");
  if (type == nullptr && config == nullptr) {
    if (IsMisspelled(pod, "acceleratorType") || IsMisspelled(pod, "acceleratorConfig")) return;
    reader.Error(key, {context, ""}, "no TPU is asked for",
                 "set `acceleratorType`, such as `v3-8`");
    return;
  }
  CheckExclusive(reader, pod, context, "acceleratorType", "acceleratorConfig");
  if (config != nullptr && config->value->is_map()) {
    for (const char* member : {"type", "topology"}) {
      if (config->value->Find(member) != nullptr) continue;
      reader.Error(*config->key, {context, "acceleratorConfig"},
                   fmt::format("`acceleratorConfig` lacks `{}`", member),
                   "such as {type: V4, topology: 2x2x2}");
    }
  }
  const std::string& name = node["acceleratorType"].AsString();
  if (name.empty() || HasReference(name) || gcp::FindAccelerator(name)) return;
  const std::string near = gcp::NearestAccelerator(name);
  reader.Warn(*type->value, {context, "acceleratorType"}, fmt::format("{} is unknown", name),
              near.empty() ? "" : "near: " + near,
              "podctl does not know this accelerator type; it is sent as it is.");
}

// What only v2alpha1 has, in the map of the node or of a message in it. `prefix`: "",
// "schedulingConfig.", "dataDisks[].".
void CheckVersion(ValueReader& reader, const YamlNode& map, const std::string& context,
                  const std::string& prefix) {
  constexpr const char* kFix = "set `apiVersion: v2alpha1` for this pod";
  for (const YamlEntry& entry : map.entries) {
    const std::string& key = entry.key->text;
    const gcp::Field* field =
        key.find('.') == std::string::npos ? gcp::FindNodeField(prefix + key) : nullptr;
    if (field == nullptr || field->field_class == gcp::FieldClass::kOutputOnly) continue;
    const YamlNode& value = *entry.value;
    const auto path = [&] { return Slot{context, key}.Path(); };
    if (field->version != ApiVersion::kV2) {
      reader.Error(*entry.key, {context, key}, fmt::format("only v2alpha1 has `{}`", key), kFix);
    } else if (field->type == gcp::FieldType::kMessage && value.is_map()) {
      CheckVersion(reader, value, path(), prefix + key + ".");
    } else if (field->type == gcp::FieldType::kMessageList && value.is_list()) {
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        if (!value.items[i]->is_map()) continue;
        CheckVersion(reader, *value.items[i], fmt::format("{}[{}]", path(), i),
                     prefix + key + "[].");
      }
    }
  }
}

// Documentation of StopNode: only single-host nodes can be stopped.
void CheckStop(ValueReader& reader, const YamlNode& pod, const std::string& context,
               const Value& node) {
  const YamlEntry* entry = pod.Find("desiredState");
  if (entry == nullptr || entry->value->text != "STOPPED") return;
  const auto hosts = gcp::ExpectedWorkers(node);
  if (!hosts || *hosts < 2) return;
  reader.Error(*entry->value, {context, "desiredState"},
               fmt::format("a pod of {} hosts cannot be stopped", *hosts),
               "leave it out; only single-host nodes can be stopped",
               "A pod that is not needed can be taken out of the spec, which deletes it.");
}

bool IsGceName(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  return !name.empty() && name.size() <= kLongest && IsLower(name[0]) && name.back() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; });
}

}  // namespace

void CheckNodeRules(ValueReader& reader, const YamlNode& key, const YamlNode& pod,
                    const std::string& context, const Value& node, ApiVersion version) {
  if (version == ApiVersion::kV2) CheckVersion(reader, pod, context, "");
  CheckStop(reader, pod, context, node);
  CheckAccelerator(reader, key, pod, context, node);
  for (const char* required : {"acceleratorType", "runtimeVersion"}) {
    const Value* value = node.Find(required);
    if (value == nullptr || !value->AsString().empty()) continue;
    reader.Error(*pod.Find(required)->value, {context, required},
                 fmt::format("`{}` is empty", required));
  }
  if (pod.Find("runtimeVersion") == nullptr && !IsMisspelled(pod, "runtimeVersion")) {
    reader.Error(key, {context, ""}, "`runtimeVersion` is missing",
                 "such as `tpu-ubuntu2204-base`");
  }
  CheckExclusive(reader, pod, context, "networkConfig", "networkConfigs");
  CheckScheduling(reader, pod, context, node);
  CheckLabels(reader, pod, context, node);
  CheckTexts(reader, pod, context, node);
  const YamlEntry* disks = pod.Find("dataDisks");
  if (disks == nullptr) return;
  for (std::size_t i = 0; i < disks->value->items.size(); ++i) {
    const YamlNode& disk = *disks->value->items[i];
    if (!disk.is_map() || disk.Find("sourceDisk") != nullptr) continue;
    reader.Error(disk, {context, "dataDisks"}, fmt::format("`dataDisks[{}]` lacks `sourceDisk`", i),
                 "such as `projects/P/zones/Z/disks/D`");
  }
}

bool CheckNodeId(ValueReader& reader, const YamlNode& at, const Slot& slot,
                 std::string_view node_id) {
  if (!gcp::IsNodeId(node_id)) {
    reader.Error(at, slot, fmt::format("`{}` is no node id", node_id),
                 "letters, digits and _ . ~ + % -");
    return false;
  }
  if (!IsGceName(node_id)) {
    reader.Warn(at, slot, fmt::format("`{}` may be refused as a node id", node_id), "",
                "Safe are up to 63 lower-case letters, digits and -, with a letter first and no - "
                "at the end.");
  }
  return true;
}

}  // namespace podctl
