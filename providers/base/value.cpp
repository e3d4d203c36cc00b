#include "providers/base/value.h"

#include <atomic>
#include <cstring>

#include "providers/base/text.h"

namespace podctl {
namespace {

// Never destroyed: when the process ends, a thread that a run has left behind may still read it.
template <typename T>
union Lasting {
  constexpr Lasting() : it() {}
  ~Lasting() {}  // NOLINT(modernize-use-equals-default): deleted otherwise
  T it;
};

const Lasting<std::string> kEmptyString;
const Lasting<Value::List> kEmptyList;
const Lasting<Value::Map> kEmptyMap;
const Lasting<Value> kNull;

// Makes sure that nobody else has what `shared` holds, before it is changed.
template <typename Content>
Content& Own(std::shared_ptr<Content>& shared) {
  if (shared == nullptr) {
    shared = std::make_shared<Content>();
  } else if (shared.use_count() != 1) {
    shared = std::make_shared<Content>(*shared);
  } else {
    // Whoever let go of it last, on whichever thread, had read it before.
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  return *shared;
}

template <typename Content>
bool HaveSame(const std::shared_ptr<Content>& a, const std::shared_ptr<Content>& b) {
  if (a == b) return true;
  if (a == nullptr) return b->empty();
  if (b == nullptr) return a->empty();
  return *a == *b;
}

}  // namespace

Value::Value(List value) : data_(std::make_shared<List>(std::move(value))) {}
Value::Value(Map value) : data_(std::make_shared<Map>(std::move(value))) {}

bool Value::AsBool(bool fallback) const {
  const bool* value = std::get_if<bool>(&data_);
  return value ? *value : fallback;
}

std::int64_t Value::AsInt(std::int64_t fallback) const {
  if (const auto* value = std::get_if<std::int64_t>(&data_)) return *value;
  if (const auto* text = std::get_if<std::string>(&data_)) {
    return ParseNumber<std::int64_t>(*text).value_or(fallback);
  }
  return fallback;
}

double Value::AsDouble(double fallback) const {
  if (const auto* value = std::get_if<double>(&data_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*value);
  return fallback;
}

const std::string& Value::AsString() const {
  const auto* value = std::get_if<std::string>(&data_);
  return value ? *value : kEmptyString.it;
}

const Value::List& Value::AsList() const {
  const auto* value = std::get_if<SharedList>(&data_);
  return value != nullptr && *value != nullptr ? **value : kEmptyList.it;
}

const Value::Map& Value::AsMap() const {
  const auto* value = std::get_if<SharedMap>(&data_);
  return value != nullptr && *value != nullptr ? **value : kEmptyMap.it;
}

std::string& Value::MutableString() {
  if (!is_string()) data_ = std::string();
  return std::get<std::string>(data_);
}

Value::List& Value::MutableList() {
  if (!is_list()) data_ = SharedList();
  return Own(std::get<SharedList>(data_));
}

Value::Map& Value::MutableMap() {
  if (!is_map()) data_ = SharedMap();
  return Own(std::get<SharedMap>(data_));
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (const auto* list = std::get_if<Value::SharedList>(&a.data_)) {
    return HaveSame(*list, std::get<Value::SharedList>(b.data_));
  }
  if (const auto* map = std::get_if<Value::SharedMap>(&a.data_)) {
    return HaveSame(*map, std::get<Value::SharedMap>(b.data_));
  }
  return a.data_ == b.data_;
}

const Value& Value::operator[](std::string_view key) const {
  const Value* found = Find(key);
  return found ? *found : kNull.it;
}

const Value* Value::Find(std::string_view key) const {
  const Map& map = AsMap();
  // The keys of a node or a record differ in length more often than not, so that looking at each
  // costs less than the comparisons of a binary search.
  constexpr std::size_t kFew = 32;
  if (map.size() <= kFew) {
    for (const auto& [name, value] : map) {
      if (name.size() == key.size() && std::memcmp(name.data(), key.data(), key.size()) == 0) {
        return &value;
      }
    }
    return nullptr;
  }
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

const Value* Value::FindPath(std::string_view dotted) const {
  const Value* at = this;
  while (at != nullptr) {
    const auto dot = dotted.find('.');
    at = at->Find(dotted.substr(0, dot));
    if (dot == std::string_view::npos) return at;
    dotted.remove_prefix(dot + 1);
  }
  return nullptr;
}

void Value::Set(std::string_view key, Value value) {
  MutableMap().insert_or_assign(std::string(key), std::move(value));
}

void Value::SetPath(std::string_view dotted, Value value) {
  Value* at = this;
  for (auto dot = dotted.find('.'); dot != std::string_view::npos; dot = dotted.find('.')) {
    at = &at->MutableMap()[std::string(dotted.substr(0, dot))];
    dotted.remove_prefix(dot + 1);
  }
  at->Set(dotted, std::move(value));
}

void Value::Erase(std::string_view key) {
  if (Find(key) == nullptr) return;
  Map& map = MutableMap();
  map.erase(map.find(key));
}

void Value::ErasePath(std::string_view dotted) {
  const auto dot = dotted.find('.');
  if (dot == std::string_view::npos) return Erase(dotted);
  if (Find(dotted.substr(0, dot)) == nullptr) return;
  MutableMap()[std::string(dotted.substr(0, dot))].ErasePath(dotted.substr(dot + 1));
}

}  // namespace podctl
