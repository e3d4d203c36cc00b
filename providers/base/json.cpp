#include "providers/base/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace podctl {
namespace {

constexpr std::size_t kMaxDepth = 200;

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
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(Value::EmptyList()); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (stack_.back().value.Find(name) != nullptr) return Fail("a duplicate key");
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
    std::string key;
  };

  bool Fail(std::string_view what) {
    problem_ = fmt::format("invalid JSON: {}", what);
    return false;
  }
  bool Open(Value value) {
    if (stack_.size() >= kMaxDepth) return Fail("nested too deeply");
    stack_.push_back({std::move(value), {}});
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
      stack_.back().value.Set(stack_.back().key, std::move(value));
    }
    return true;
  }

  Value root_;
  std::vector<Level> stack_;
  std::string problem_;
};

nlohmann::json ToNlohmann(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return nullptr;
    case Value::Kind::kBool:
      return value.AsBool();
    case Value::Kind::kInt:
      return value.AsInt();
    case Value::Kind::kDouble:
      return value.AsDouble();
    case Value::Kind::kString:
      return value.AsString();
    case Value::Kind::kList: {
      nlohmann::json list = nlohmann::json::array();
      for (const Value& item : value.AsList()) list.push_back(ToNlohmann(item));
      return list;
    }
    case Value::Kind::kMap: {
      nlohmann::json map = nlohmann::json::object();
      for (const auto& [key, item] : value.AsMap()) map[key] = ToNlohmann(item);
      return map;
    }
  }
  return nullptr;
}

}  // namespace

Result<Value> ParseJson(std::string_view text) {
  ValueBuilder builder;
  const bool accepted = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).Take(accepted);
}

std::string ToJson(const Value& value, JsonStyle style) {
  const int indent = style == JsonStyle::kIndented ? 2 : -1;
  return ToNlohmann(value).dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace podctl
