#include "providers/emulator/api/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/service/times.h"

namespace podctl::emulator {
namespace {

const Field* FindField(const MessageType& descriptor, std::string_view name, ApiVersion version) {
  const std::string camel = CamelCase(name);
  const In other = version == ApiVersion::kV2 ? In::kAlpha : In::kV2;
  for (const Field& field : descriptor.fields) {
    if (field.name == camel && field.in != other) return &field;
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
      root, fmt::format("Invalid JSON payload received. Unknown name \"{}\"{}: Cannot find field.",
                        name, root.empty() ? "" : fmt::format(" at '{}'", root)));
}

ApiError WrongType(std::string_view path, std::string_view type, const Value& value) {
  return FieldViolation(path,
                        fmt::format("Invalid value at '{}' ({}), {}", path, type, ToJson(value)));
}

Answer ReadMessage(const MessageType& descriptor, const Value& body, const std::string& root,
                   ApiVersion version);

Answer ReadInteger(const Field& field, const Value& value, const std::string& path) {
  const bool small = field.type == Type::kInt32;
  const std::string_view type = small ? "TYPE_INT32" : "TYPE_INT64";
  std::int64_t number = value.AsInt();
  if (!value.is_int() && !ReadNumber(value.AsString(), &number)) {
    return WrongType(path, type, value);
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

std::string TypeName(std::string_view message, ApiVersion version) {
  return fmt::format("type.googleapis.com/google.cloud.tpu.{}.{}", VersionName(version), message);
}

Answer ReadEnum(const MessageType& owner, const Field& field, const Value& value,
                const std::string& path, ApiVersion version) {
  // By name or by number: Google's REST clients send numbers.
  for (std::size_t i = 0; i < field.values.size(); ++i) {
    const int number = field.numbers.empty() ? static_cast<int>(i) : field.numbers[i];
    const bool is_it = value.is_int() ? value.AsInt() == number
                                      : value.is_string() && value.AsString() == field.values[i];
    if (is_it) return Value(field.values[i]);
  }
  std::string type(field.name);
  type[0] = static_cast<char>(type[0] - 'a' + 'A');
  return WrongType(path, TypeName(fmt::format("{}.{}", owner.name, type), version), value);
}

Answer ReadTime(const Field& field, const Value& value, const std::string& path) {
  const bool is_duration = field.type == Type::kDuration;
  const bool understood = is_duration ? DurationMs(value.AsString()).has_value()
                                      : TimestampMs(value.AsString()).has_value();
  if (understood) return value;
  return WrongType(path,
                   is_duration ? "type.googleapis.com/google.protobuf.Duration"
                               : "type.googleapis.com/google.protobuf.Timestamp",
                   value);
}

Answer ReadSingle(const MessageType& owner, const Field& field, const Value& value,
                  const std::string& path, ApiVersion version) {
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
      return ReadEnum(owner, field, value, path, version);
    case Type::kStringMap:
      return ReadStringMap(value, path);
    case Type::kDuration:
    case Type::kTimestamp:
      return ReadTime(field, value, path);
    case Type::kAnything:
      if (!value.is_map()) return WrongType(path, "Message", value);
      return value;
    case Type::kMessage:
      if (!value.is_map()) return WrongType(path, TypeName(field.message->name, version), value);
      return ReadMessage(*field.message, value, path, version);
  }
  return value;
}

Answer ReadField(const MessageType& owner, const Field& field, const Value& value,
                 const std::string& path, ApiVersion version) {
  if (!field.repeated) return ReadSingle(owner, field, value, path, version);
  // A single value where a list belongs is taken as a list of one (JSON mapping of googleapis).
  const Value::List items = value.is_list() ? value.AsList() : Value::List{value};
  Value::List read;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Answer item = ReadSingle(owner, field, items[i], fmt::format("{}[{}]", path, i), version);
    if (std::holds_alternative<ApiError>(item)) return item;
    read.push_back(std::get<Value>(std::move(item)));
  }
  return Value(std::move(read));
}

ApiError AlreadySet(std::string_view root, std::string_view oneof, std::string_view field) {
  return FieldViolation(root, fmt::format("Invalid value at '{}' (oneof), oneof field '{}' is "
                                          "already set. Cannot set '{}'",
                                          root, oneof, field));
}

Answer ReadMessage(const MessageType& descriptor, const Value& body, const std::string& root,
                   ApiVersion version) {
  Value read = Value::EmptyMap();
  std::vector<std::string_view> oneofs;
  for (const auto& [name, value] : body.AsMap()) {
    const Field* field = FindField(descriptor, name, version);
    if (field == nullptr) return UnknownName(name, root);
    if (field->output_only || value.is_null()) continue;
    if (read.Find(field->name) != nullptr) return AlreadySet(root, field->name, field->name);
    if (!field->oneof.empty()) {
      if (std::find(oneofs.begin(), oneofs.end(), field->oneof) != oneofs.end()) {
        return AlreadySet(root, field->oneof, field->name);
      }
      oneofs.push_back(field->oneof);
    }
    Answer answer = ReadField(descriptor, *field, value, Join(root, field->name), version);
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

Answer ReadBody(Message message, const Value& body, std::string_view root, ApiVersion version) {
  if (!body.is_map()) {
    return FieldViolation(root,
                          "Invalid JSON payload received. Unknown name \"\": Root element must be "
                          "a message.");
  }
  return ReadMessage(DescriptorOf(message), body, std::string(root), version);
}

std::optional<std::string> NodeMaskPath(std::string_view path, ApiVersion version) {
  const MessageType* descriptor = &DescriptorOf(Message::kNode);
  std::string camel;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    const Field* field = descriptor == nullptr ? nullptr : FindField(*descriptor, name, version);
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

std::vector<MaskPath> ReadMask(std::string_view mask, ApiVersion version) {
  std::vector<MaskPath> paths;
  while (!mask.empty()) {
    const std::size_t comma = mask.find(',');
    const std::string_view given = mask.substr(0, comma);
    mask = comma == std::string_view::npos ? std::string_view{} : mask.substr(comma + 1);
    paths.push_back({std::string(given), NodeMaskPath(given, version).value_or("")});
  }
  return paths;
}

}  // namespace podctl::emulator
