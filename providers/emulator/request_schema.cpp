#include "providers/emulator/request_schema.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <utility>

#include "providers/base/json.h"

namespace podctl::emulator {
namespace {

enum class Type { kString, kBool, kInt32, kInt64, kEnum, kStringMap, kMessage };

struct Descriptor;

struct Field {
  std::string_view name;
  Type type = Type::kString;
  bool repeated = false;
  bool output_only = false;
  const Descriptor* message = nullptr;        // kMessage
  std::vector<std::string_view> values = {};  // kEnum, without the unspecified one
};

struct Descriptor {
  std::string_view name;  // "AcceleratorConfig"
  std::vector<Field> fields;
};

const Descriptor& NodeDescriptor() {
  static const Descriptor accelerator_config{
      "AcceleratorConfig",
      {{.name = "type",
        .type = Type::kEnum,
        .values = {"TYPE_UNSPECIFIED", "V2", "V3", "V4", "V5LITE_POD", "V5P", "V6E"}},
       {.name = "topology"}}};
  static const Descriptor network_config{"NetworkConfig",
                                         {{.name = "network"},
                                          {.name = "subnetwork"},
                                          {.name = "enableExternalIps", .type = Type::kBool},
                                          {.name = "canIpForward", .type = Type::kBool},
                                          {.name = "queueCount", .type = Type::kInt32}}};
  static const Descriptor service_account{"ServiceAccount",
                                          {{.name = "email"}, {.name = "scope", .repeated = true}}};
  static const Descriptor scheduling_config{"SchedulingConfig",
                                            {{.name = "preemptible", .type = Type::kBool},
                                             {.name = "reserved", .type = Type::kBool},
                                             {.name = "spot", .type = Type::kBool}}};
  static const Descriptor attached_disk{
      "AttachedDisk",
      {{.name = "sourceDisk"},
       {.name = "mode",
        .type = Type::kEnum,
        .values = {"DISK_MODE_UNSPECIFIED", "READ_WRITE", "READ_ONLY"}}}};
  static const Descriptor shielded{"ShieldedInstanceConfig",
                                   {{.name = "enableSecureBoot", .type = Type::kBool}}};
  static const Descriptor node{
      "Node",
      {{.name = "acceleratorConfig", .type = Type::kMessage, .message = &accelerator_config},
       {.name = "acceleratorType"},
       {.name = "cidrBlock"},
       {.name = "dataDisks", .type = Type::kMessage, .repeated = true, .message = &attached_disk},
       {.name = "description"},
       {.name = "labels", .type = Type::kStringMap},
       {.name = "metadata", .type = Type::kStringMap},
       {.name = "networkConfig", .type = Type::kMessage, .message = &network_config},
       {.name = "networkConfigs",
        .type = Type::kMessage,
        .repeated = true,
        .message = &network_config},
       {.name = "runtimeVersion"},
       {.name = "schedulingConfig", .type = Type::kMessage, .message = &scheduling_config},
       {.name = "serviceAccount", .type = Type::kMessage, .message = &service_account},
       {.name = "shieldedInstanceConfig", .type = Type::kMessage, .message = &shielded},
       {.name = "tags", .repeated = true},
       {.name = "apiVersion", .output_only = true},
       {.name = "createTime", .output_only = true},
       {.name = "health", .output_only = true},  // writable in the proto, never heeded
       {.name = "healthDescription", .output_only = true},
       {.name = "id", .output_only = true},
       {.name = "multisliceNode", .output_only = true},
       {.name = "name", .output_only = true},
       {.name = "networkEndpoints", .output_only = true},
       {.name = "queuedResource", .output_only = true},
       {.name = "state", .output_only = true},
       {.name = "symptoms", .output_only = true},
       {.name = "upcomingMaintenance", .output_only = true}}};
  return node;
}

const Descriptor& Find(Message message) {
  static const Descriptor empty{"Empty", {}};
  static const Descriptor guest_attributes{
      "GetGuestAttributesRequest",
      {{.name = "queryPath"}, {.name = "workerIds", .repeated = true}}};
  switch (message) {
    case Message::kNode:
      return NodeDescriptor();
    case Message::kGetGuestAttributesRequest:
      return guest_attributes;
    case Message::kEmpty:
      break;
  }
  return empty;
}

const Field* FindField(const Descriptor& descriptor, std::string_view name) {
  const std::string camel = CamelCase(name);
  for (const Field& field : descriptor.fields) {
    if (field.name == camel) return &field;
  }
  return nullptr;
}

std::string SnakeCase(std::string_view name) {
  std::string snake;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      snake += '_';
      snake += static_cast<char>(c - 'A' + 'a');
    } else {
      snake += c;
    }
  }
  return snake;
}

std::string Join(std::string_view root, std::string_view name) {
  return root.empty() ? SnakeCase(name) : fmt::format("{}.{}", root, SnakeCase(name));
}

ApiError UnknownName(std::string_view name, std::string_view root) {
  return FieldViolation(
      root, root.empty()
                ? fmt::format("Invalid JSON payload received. Unknown name \"{}\": Cannot find "
                              "field.",
                              name)
                : fmt::format("Invalid JSON payload received. Unknown name \"{}\" at '{}': Cannot "
                              "find field.",
                              name, root));
}

ApiError WrongType(std::string_view path, std::string_view type, const Value& value) {
  return FieldViolation(path,
                        fmt::format("Invalid value at '{}' ({}), {}", path, type, ToJson(value)));
}

Answer ReadMessage(const Descriptor& descriptor, const Value& body, const std::string& root);

Answer ReadInteger(const Field& field, const Value& value, const std::string& path) {
  const bool small = field.type == Type::kInt32;
  const std::string_view type = small ? "TYPE_INT32" : "TYPE_INT64";
  std::int64_t number = 0;
  if (value.is_int()) {
    number = value.AsInt();
  } else {
    const std::string& text = value.AsString();
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || problem != std::errc{} || end != text.data() + text.size()) {
      return WrongType(path, type, value);
    }
  }
  if (small && (number < INT32_MIN || number > INT32_MAX)) return WrongType(path, type, value);
  return small ? Value(number) : Value(std::to_string(number));
}

Answer ReadStringMap(const Value& value, const std::string& path) {
  if (!value.is_map()) return WrongType(path, "Map", value);
  int index = 0;
  for (const auto& [key, entry] : value.AsMap()) {
    if (!entry.is_string()) {
      return WrongType(fmt::format("{}[{}].value", path, index), "TYPE_STRING", entry);
    }
    ++index;
  }
  return value;
}

Answer ReadEnum(const Descriptor& owner, const Field& field, const Value& value,
                const std::string& path) {
  for (const std::string_view known : field.values) {
    if (value.is_string() && value.AsString() == known) return value;
  }
  std::string type(field.name);
  type[0] = static_cast<char>(type[0] - 'a' + 'A');
  return WrongType(
      path, fmt::format("type.googleapis.com/google.cloud.tpu.v2.{}.{}", owner.name, type), value);
}

Answer ReadSingle(const Descriptor& owner, const Field& field, const Value& value,
                  const std::string& path) {
  if (value.is_list()) {
    return FieldViolation(path, fmt::format("Invalid JSON payload received. Unknown name \"{}\": "
                                            "Proto field is not repeating, cannot start list.",
                                            field.name));
  }
  switch (field.type) {
    case Type::kString:
      if (!value.is_string()) return WrongType(path, "TYPE_STRING", value);
      return value;
    case Type::kBool:
      if (!value.is_bool()) return WrongType(path, "TYPE_BOOL", value);
      return value;
    case Type::kInt32:
    case Type::kInt64:
      return ReadInteger(field, value, path);
    case Type::kEnum:
      return ReadEnum(owner, field, value, path);
    case Type::kStringMap:
      return ReadStringMap(value, path);
    case Type::kMessage:
      if (!value.is_map()) {
        return WrongType(
            path, fmt::format("type.googleapis.com/google.cloud.tpu.v2.{}", field.message->name),
            value);
      }
      return ReadMessage(*field.message, value, path);
  }
  return value;
}

Answer ReadField(const Descriptor& owner, const Field& field, const Value& value,
                 const std::string& path) {
  if (!field.repeated) return ReadSingle(owner, field, value, path);
  // A single value where a list belongs is taken as a list of one (JSON mapping of googleapis).
  const Value::List items = value.is_list() ? value.AsList() : Value::List{value};
  Value::List read;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Answer item = ReadSingle(owner, field, items[i], fmt::format("{}[{}]", path, i));
    if (std::holds_alternative<ApiError>(item)) return item;
    read.push_back(std::get<Value>(std::move(item)));
  }
  return Value(std::move(read));
}

Answer ReadMessage(const Descriptor& descriptor, const Value& body, const std::string& root) {
  Value read = Value::EmptyMap();
  for (const auto& [name, value] : body.AsMap()) {
    const Field* field = FindField(descriptor, name);
    if (field == nullptr) return UnknownName(name, root);
    if (field->output_only || value.is_null()) continue;
    if (read.Find(field->name) != nullptr) {
      return FieldViolation(root, fmt::format("Invalid value at '{}' (oneof), oneof field '{}' is "
                                              "already set.",
                                              root, field->name));
    }
    Answer answer = ReadField(descriptor, *field, value, Join(root, field->name));
    if (std::holds_alternative<ApiError>(answer)) return answer;
    read.Set(field->name, std::get<Value>(std::move(answer)));
  }
  return read;
}

}  // namespace

std::string CamelCase(std::string_view name) {
  std::string camel;
  bool upper = false;
  for (const char c : name) {
    if (c == '_') {
      upper = !camel.empty();
    } else {
      camel += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      upper = false;
    }
  }
  return camel;
}

Answer ReadBody(Message message, const Value& body, std::string_view root) {
  if (!body.is_map()) {
    return FieldViolation(root,
                          "Invalid JSON payload received. Unknown name \"\": Root element must be "
                          "a message.");
  }
  return ReadMessage(Find(message), body, std::string(root));
}

std::optional<std::string> NodeMaskPath(std::string_view path) {
  const Descriptor* descriptor = &NodeDescriptor();
  std::string camel;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    const Field* field = descriptor == nullptr ? nullptr : FindField(*descriptor, name);
    if (field == nullptr) return std::nullopt;
    camel += camel.empty() ? "" : ".";
    camel += field->name;
    descriptor = field->repeated ? nullptr : field->message;
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    if (dot != std::string_view::npos && path.empty()) return std::nullopt;
  }
  if (camel.empty()) return std::nullopt;
  return camel;
}

}  // namespace podctl::emulator
