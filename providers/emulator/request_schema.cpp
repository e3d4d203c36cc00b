#include "providers/emulator/request_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/request_messages.h"

namespace podctl::emulator {
namespace {

const MessageType& Find(Message message) {
  switch (message) {
    case Message::kNode:
      return NodeDescriptor();
    case Message::kQueuedResource:
      return QueuedResourceDescriptor();
    case Message::kGetGuestAttributesRequest:
      return GetGuestAttributesDescriptor();
    case Message::kSimulateMaintenanceRequest:
      return SimulateMaintenanceDescriptor();
    case Message::kQueuedMaintenanceRequest:
      return QueuedMaintenanceDescriptor();
    case Message::kEmpty:
      break;
  }
  return EmptyDescriptor();
}

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

Answer ReadMessage(const MessageType& descriptor, const Value& body, const std::string& root,
                   ApiVersion version);

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

// Two digits (or `count`) at `at`, within limits; -1 otherwise.
int Digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  int number = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return -1;
    number = 10 * number + (c - '0');
  }
  return number;
}

// ".5" as milliseconds; takes it off the text. nullopt: a point without digits, or too many.
std::optional<std::int64_t> TakeFraction(std::string_view* text) {
  if (text->empty() || text->front() != '.') return 0;
  std::size_t end = 1;
  std::int64_t milliseconds = 0;
  for (std::int64_t weight = 100; end < text->size() && (*text)[end] >= '0' && (*text)[end] <= '9';
       ++end, weight /= 10) {
    milliseconds += weight * ((*text)[end] - '0');
  }
  if (end < 2 || end > 10) return std::nullopt;
  text->remove_prefix(end);
  return milliseconds;
}

// "Z" or "+02:00", in minutes.
std::optional<int> ZoneMinutes(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hours = Digits(text, 1, 2);
  const int minutes = Digits(text, 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (60 * hours + minutes);
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
  return ReadMessage(Find(message), body, std::string(root), version);
}

std::optional<std::int64_t> DurationMs(std::string_view text) {
  constexpr std::int64_t kMaxSeconds = 315'576'000'000;
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  std::int64_t seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (problem != std::errc{} || seconds < 0 || seconds > kMaxSeconds) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  const auto fraction = TakeFraction(&text);
  if (!fraction || text != "s") return std::nullopt;
  return (negative ? -1 : 1) * (1000 * seconds + *fraction);
}

std::optional<std::int64_t> TimestampMs(std::string_view text) {
  const int year = Digits(text, 0, 4);
  const int month = Digits(text, 5, 2);
  const int day = Digits(text, 8, 2);
  const int hour = Digits(text, 11, 2);
  const int minute = Digits(text, 14, 2);
  const int second = Digits(text, 17, 2);
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != 't') || text[13] != ':' || text[16] != ':' || hour < 0 ||
      hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (year < 1 || month < 1 || day < 1 || !date.ok()) return std::nullopt;
  text.remove_prefix(19);
  const auto fraction = TakeFraction(&text);
  const auto zone = ZoneMinutes(text);
  if (!fraction || !zone) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute - *zone) * 60 + second) * 1000 + *fraction;
}

std::optional<std::string> NodeMaskPath(std::string_view path, ApiVersion version) {
  const MessageType* descriptor = &NodeDescriptor();
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

}  // namespace podctl::emulator
