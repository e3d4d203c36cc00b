// A JSON-like value: the vocabulary in which specs, API resources and the state are compared.
//
// Value knows no JSON library and no YAML library; json.h and plans/spec turn text into it.
// Maps are sorted by key, so that two equal values always print the same way.
//
// Copying is cheap: copies of a list or map share it until one of them is changed, of which the
// others see nothing. Threads may each use their own copies at the same time.
//
// A map is one piece of memory, sorted: a plan of thousands of pods is made of small maps that are
// built in the order of their keys. To add a member moves those behind it, and what was lent of the
// map's members is no longer theirs.
#pragma once

#include <boost/container/flat_map.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace podctl {

class Value {
 public:
  using List = std::vector<Value>;
  using Map = boost::container::flat_map<std::string, Value, std::less<>>;
  enum class Kind { kNull, kBool, kInt, kDouble, kString, kList, kMap };

  Value() = default;
  Value(std::nullptr_t) {}                                                 // NOLINT: implicit
  Value(bool value) : data_(value) {}                                      // NOLINT: implicit
  Value(int value) : data_(static_cast<std::int64_t>(value)) {}            // NOLINT: implicit
  Value(std::int64_t value) : data_(value) {}                              // NOLINT: implicit
  Value(std::uint64_t value) : data_(static_cast<std::int64_t>(value)) {}  // NOLINT: implicit
  Value(double value) : data_(value) {}                                    // NOLINT: implicit
  Value(const char* value) : data_(std::string(value)) {}                  // NOLINT: implicit
  Value(std::string_view value) : data_(std::string(value)) {}             // NOLINT: implicit
  Value(std::string value) : data_(std::move(value)) {}                    // NOLINT: implicit
  Value(List value);                                                       // NOLINT: implicit
  Value(Map value);                                                        // NOLINT: implicit

  static Value EmptyMap() { return Value(Map{}); }
  static Value EmptyList() { return Value(List{}); }

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_bool() const { return kind() == Kind::kBool; }
  bool is_int() const { return kind() == Kind::kInt; }
  bool is_double() const { return kind() == Kind::kDouble; }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_list() const { return kind() == Kind::kList; }
  bool is_map() const { return kind() == Kind::kMap; }

  // Typed readers that forgive: what is not there, or is of another kind, reads as the fallback.
  bool AsBool(bool fallback = false) const;
  // Also reads a decimal string, since the API sends int64 as one (protobuf JSON mapping).
  std::int64_t AsInt(std::int64_t fallback = 0) const;
  double AsDouble(double fallback = 0) const;
  const std::string& AsString() const;  // "" when not a string
  const List& AsList() const;           // empty when not a list
  const Map& AsMap() const;             // empty when not a map

  // Makes this a string (list, map) if it is not one yet, and lends it for change.
  std::string& MutableString();
  List& MutableList();
  Map& MutableMap();

  // The member, or a null value. `FindPath` takes dotted keys: "networkConfig.network".
  const Value& operator[](std::string_view key) const;
  const Value* Find(std::string_view key) const;  // nullptr when absent
  const Value* FindPath(std::string_view dotted) const;
  // Sets a member, making maps on the way.
  void Set(std::string_view key, Value value);
  void SetPath(std::string_view dotted, Value value);
  void Erase(std::string_view key);
  void ErasePath(std::string_view dotted);

  friend bool operator==(const Value& a, const Value& b);

 private:
  // A value that was moved from may hold an empty pointer, and reads as an empty list or map.
  using SharedList = std::shared_ptr<List>;
  using SharedMap = std::shared_ptr<Map>;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, SharedList, SharedMap>
      data_;
};

}  // namespace podctl
