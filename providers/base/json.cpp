#include "providers/base/json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::size_t kMaxDepth = 200;

using Members = Value::Map::sequence_type;

// False when a key stands there twice.
bool IntoMap(Members members, Value* to) {
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  // Most services, and podctl, write members in the order of their keys.
  if (!std::is_sorted(members.begin(), members.end(), before)) {
    std::sort(members.begin(), members.end(), before);
  }
  const auto twice =
      std::adjacent_find(members.begin(), members.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != members.end()) return false;
  to->MutableMap().adopt_sequence(boost::container::ordered_unique_range, std::move(members));
  return true;
}

// `depth`: how many levels more there may be.
bool FromElement(const simdjson::dom::element& from, std::size_t depth, Value* to);

bool FromArray(const simdjson::dom::array& from, std::size_t depth, Value* to) {
  Value::List& list = to->MutableList();
  list.reserve(from.size());
  for (const simdjson::dom::element item : from) {
    if (!FromElement(item, depth, &list.emplace_back())) return false;
  }
  return true;
}

bool FromObject(const simdjson::dom::object& from, std::size_t depth, Value* to) {
  Members members;
  members.reserve(from.size());
  for (const auto& [key, value] : from) {
    if (!FromElement(value, depth, &members.emplace_back(key, Value()).second)) return false;
  }
  return IntoMap(std::move(members), to);
}

bool FromElement(const simdjson::dom::element& from, std::size_t depth, Value* to) {
  using Type = simdjson::dom::element_type;
  switch (from.type()) {
    case Type::ARRAY:
      return depth > 0 && FromArray(from.get_array().value_unsafe(), depth - 1, to);
    case Type::OBJECT:
      return depth > 0 && FromObject(from.get_object().value_unsafe(), depth - 1, to);
    case Type::STRING:
      *to = Value(from.get_string().value_unsafe());
      return true;
    case Type::INT64:
      *to = Value(from.get_int64().value_unsafe());
      return true;
    case Type::UINT64:
      *to = Value(static_cast<double>(from.get_uint64().value_unsafe()));  // beyond int64
      return true;
    case Type::DOUBLE:
      *to = Value(from.get_double().value_unsafe());
      return true;
    case Type::BOOL:
      *to = Value(from.get_bool().value_unsafe());
      return true;
    case Type::NULL_VALUE:
      *to = Value();
      return true;
  }
  return false;
}

// What simdjson takes, ten times as fast as the parser below. nullopt: that one reads it, or knows
// what is wrong where.
std::optional<Value> ReadFast(std::string_view text, std::size_t readable) {
  if (text.empty()) return std::nullopt;  // it may have no address, which simdjson would copy from
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.allocate(text.size(), kMaxDepth + 1) != simdjson::SUCCESS) return std::nullopt;
  const bool copy = readable < text.size() + simdjson::SIMDJSON_PADDING;
  if (parser.parse(text.data(), text.size(), copy).get(root) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  Value value;
  if (!FromElement(root, kMaxDepth, &value)) return std::nullopt;
  return value;
}

// Builds the Value directly from the parser's events, so that duplicate keys and depth are seen.
class ValueBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Put(Value()); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override { return Put(Value(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(INT64_MAX)) return Put(static_cast<double>(value));
    return Put(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return Put(value); }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return Fail("binary data"); }
  bool start_object(std::size_t) override { return Open(Value::EmptyMap()); }
  bool end_object() override {
    Level& level = stack_.back();
    if (!IntoMap(std::move(level.members), &level.value)) return Fail("a duplicate key");
    return Close();
  }
  bool start_array(std::size_t) override { return Open(Value::EmptyList()); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    stack_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    problem_ = fmt::format("invalid JSON at byte {}", position);
    return false;
  }

  Result<Value> Take(bool accepted) && {
    if (accepted && problem_.empty()) return std::move(root_);
    return MakeError(ErrorCode::kInvalidArgument, problem_.empty() ? "invalid JSON" : problem_);
  }

 private:
  struct Level {
    Value value;
    Members members;  // of an object, until it ends
    std::string key;
  };

  bool Fail(std::string_view what) {
    problem_ = fmt::format("invalid JSON: {}", what);
    return false;
  }
  bool Open(Value value) {
    if (stack_.size() >= kMaxDepth) return Fail("nested too deeply");
    stack_.push_back({std::move(value), {}, {}});
    return true;
  }
  bool Close() {
    Value done = std::move(stack_.back().value);
    stack_.pop_back();
    return Put(std::move(done));
  }
  bool Put(Value value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (stack_.back().value.is_list()) {
      stack_.back().value.MutableList().push_back(std::move(value));
    } else {
      stack_.back().members.emplace_back(std::move(stack_.back().key), std::move(value));
    }
    return true;
  }

  Value root_;
  std::vector<Level> stack_;
  std::string problem_;
};

// What the library is asked to write: text that is not plain ASCII (it knows what is escaped, and
// what UTF-8 is valid), and numbers with a fraction (it knows how few digits do).
std::string Dumped(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <typename Items, typename Put>
void AppendItems(const Items& items, char open, char close, std::string* out, const Put& put) {
  *out += open;
  bool first = true;
  for (const auto& item : items) {
    if (!first) *out += ',';
    first = false;
    put(item);
  }
  *out += close;
}

// The end of the string whose opening quote stands at `begin`: behind its closing quote.
std::size_t EndOfText(std::string_view json, std::size_t begin) {
  std::size_t at = begin + 1;
  while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return std::min(at + 1, json.size());
}

}  // namespace

Result<Value> ParseJson(std::string_view text, std::size_t readable) {
  if (auto value = ReadFast(text, readable)) return *std::move(value);
  ValueBuilder builder;
  // The parser below takes a NUL for the end, and what follows would be read by nobody.
  if (text.find('\0') != std::string_view::npos) {
    return MakeError(ErrorCode::kInvalidArgument, "it holds a NUL, which is no JSON");
  }
  const bool accepted = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).Take(accepted);
}

std::string ToJson(const Value& value, JsonStyle style) {
  std::string compact;
  AppendJson(value, &compact);
  if (style == JsonStyle::kCompact) return compact;
  std::string indented;
  AppendIndentedJson(compact, 0, &indented);
  return indented;
}

void AppendJson(const Value& value, std::string* out) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      *out += "null";
      break;
    case Value::Kind::kBool:
      *out += value.AsBool() ? "true" : "false";
      break;
    case Value::Kind::kInt:
      fmt::format_to(std::back_inserter(*out), "{}", value.AsInt());
      break;
    case Value::Kind::kDouble:
      *out += Dumped(value.AsDouble());
      break;
    case Value::Kind::kString:
      AppendJsonText(value.AsString(), out);
      break;
    case Value::Kind::kList:
      AppendItems(value.AsList(), '[', ']', out, [&](const Value& item) { AppendJson(item, out); });
      break;
    case Value::Kind::kMap:
      AppendItems(value.AsMap(), '{', '}', out, [&](const auto& member) {
        AppendJsonText(member.first, out);
        *out += ':';
        AppendJson(member.second, out);
      });
      break;
  }
}

void AppendJsonText(std::string_view text, std::string* out) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return c >= ' ' && c != '"' && c != '\\'; });
  if (plain) {
    fmt::format_to(std::back_inserter(*out), "\"{}\"", text);
  } else {
    *out += Dumped(text);
  }
}

void AppendIndentedJson(std::string_view compact, int depth, std::string* out_text) {
  std::string& out = *out_text;
  out.reserve(out.size() + compact.size() + compact.size() / 2);
  const auto break_line = [&] {
    out += '\n';
    out.append(2 * static_cast<std::size_t>(depth), ' ');
  };
  for (std::size_t i = 0; i < compact.size();) {
    const char c = compact[i];
    if (c == '"') {
      const std::size_t end = EndOfText(compact, i);
      out.append(compact, i, end - i);
      i = end;
      continue;
    }
    ++i;
    const bool closes = c == '}' || c == ']';
    if (closes && compact[i - 2] != '{' && compact[i - 2] != '[') {
      --depth;
      break_line();
    }
    out += c;
    if (c == ':') out += ' ';
    const bool opens = c == '{' || c == '[';
    if (opens && i < compact.size() && compact[i] != '}' && compact[i] != ']') {
      ++depth;
      break_line();
    }
    if (c == ',') break_line();
  }
}

std::string WithoutLayout(std::string_view text) {
  std::string out(text.size() + simdjson::SIMDJSON_PADDING, '\0');
  std::size_t size = 0;
  const auto error = simdjson::minify(text.data(), text.size(), out.data(), size);
  out.resize(error == simdjson::SUCCESS ? size : 0);
  return out;
}

std::string ShortJson(const Value& value) {
  if (value.is_list()) {
    std::vector<std::string> items;
    for (const Value& item : value.AsList()) items.push_back(ToJson(item));
    return "[" + Join(items, ", ") + "]";
  }
  if (!value.is_string()) return ToJson(value);
  const std::string& text = value.AsString();
  if (text.find('\n') == std::string::npos) return ToJson(value);
  const auto lines = SplitLines(text);
  if (lines.size() == 1) return ToJson(value);
  return fmt::format("{} … ({})", ToJson(Value(lines.front())), Plural(lines.size(), "line"));
}

}  // namespace podctl
