#include "plans/kinds/pod/reader/node_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "plans/spec/near_words.h"
#include "providers/base/split_words.h"

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

std::vector<std::string> AllMembers(std::string_view prefix) {
  std::vector<std::string> names;
  for (const Field& field : gcp::NodeFields()) {
    if (!field.path.starts_with(prefix)) continue;
    const std::string_view rest = field.path.substr(prefix.size());
    if (rest.find('.') == std::string_view::npos) names.emplace_back(rest);
  }
  return names;
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

std::vector<std::string> WritableMembers(std::string_view prefix) {
  std::vector<std::string> names = AllMembers(prefix);
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
      const std::string near = SuggestWord(name, AllMembers(prefix));
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

}  // namespace podctl
