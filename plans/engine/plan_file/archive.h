// Turns structs into Values and back from one description each (Members, below and in
// the kinds), so that what is written and what is read cannot drift apart.
//
// A description is a function Members(archive, struct) that calls archive(name, member) for every
// member; PODCTL_MEMBERS makes one of the members' names. The reader is strict: a missing member,
// one of another type or one it does not know is a problem; the first one is kept, with the way to
// it, and the rest is read as defaults.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "providers/base/diagnostic.h"
#include "providers/base/value.h"
#include "state/address.h"

namespace podctl::plan_file {

// `T` itself or a const `T`: one description serves the writer and the reader.
template <typename S, typename T>
concept Of = std::same_as<std::remove_const_t<S>, T>;

// The words of an enum, in the order of its values; specialised beside its Members.
template <typename E>
struct Words;

class Writer {
 public:
  template <typename T>
  void operator()(const char* name, const T& member) {
    if constexpr (requires { member.has_value(); }) {
      if (member) object_.Set(name, ToValue(*member));
    } else {
      object_.Set(name, ToValue(member));
    }
  }
  Value Take() { return std::move(object_); }

  static Value ToValue(const Value& value) { return value; }
  static Value ToValue(const std::string& text) { return Value(text); }
  static Value ToValue(double number) { return Value(number); }
  static Value ToValue(const Address& address) {
    return Value(address.empty() ? std::string() : address.Text());
  }
  static Value ToValue(std::chrono::milliseconds duration) {
    return Value(static_cast<std::int64_t>(duration.count()));
  }
  template <typename T>
  requires std::integral<T>
  static Value ToValue(T number) { return Value(number); }
  template <typename E>
  requires std::is_enum_v<E>
  static Value ToValue(E word) {
    return Value(std::string_view(Words<E>::kAll[static_cast<std::size_t>(word)]));
  }
  template <typename T>
  static Value ToValue(const std::vector<T>& items) {
    Value::List list;
    list.reserve(items.size());
    for (const T& item : items) list.push_back(ToValue(item));
    return Value(std::move(list));
  }
  template <typename T>
  static Value ToValue(const std::map<std::string, T>& members) {
    Value::Map map;
    for (const auto& [key, value] : members) map.emplace(key, ToValue(value));
    return Value(std::move(map));
  }
  template <typename S>
  requires std::is_class_v<S>
  static Value ToValue(const S& object) {
    Writer writer;
    writer.object_ = Value::EmptyMap();
    Members(writer, object);
    return writer.Take();
  }

 private:
  Value object_ = Value::EmptyMap();
};

class Reader {
 public:
  // Both must outlive the reader.
  Reader(const Value& object, std::string where, std::string& problem)
      : object_(object), where_(std::move(where)), problem_(problem) {
    if (!object.is_map()) Fail("is not an object");
  }

  template <typename T>
  void operator()(const char* name, T& member) {
    known_.insert(name);
    const Value* found = object_.Find(name);
    const std::string way = where_.empty() ? name : where_ + "." + name;
    if constexpr (requires { member.has_value(); }) {
      if (found == nullptr) return;
      Read(*found, way, problem_, member.emplace());
    } else if (found == nullptr) {
      FailAt(way, "is missing", problem_);
    } else {
      Read(*found, way, problem_, member);
    }
  }
  // Call last: what this podctl does not know, it must not carry out.
  void RefuseUnknown() {
    for (const auto& [key, value] : object_.AsMap()) {
      if (!known_.contains(key)) Fail(fmt::format("has an unknown key `{}`", key));
    }
  }
  void Know(const char* name) { known_.insert(name); }
  void Fail(const std::string& what) { FailAt(where_, what, problem_); }

  template <typename S>
  requires std::is_class_v<S>
  static void Read(const Value& value, const std::string& way, std::string& problem, S& object) {
    Reader reader(value, way, problem);
    Members(reader, object);
    reader.RefuseUnknown();
  }

 private:
  static void FailAt(const std::string& way, const std::string& what, std::string& problem) {
    if (problem.empty()) problem = (way.empty() ? "the document" : "`" + way + "`") + " " + what;
  }

  static void Read(const Value& value, const std::string&, std::string&, Value& member) {
    member = value;
  }
  static void Read(const Value& value, const std::string& way, std::string& problem,
                   std::string& member) {
    if (!value.is_string()) return FailAt(way, "is not a string", problem);
    member = value.AsString();
  }
  static void Read(const Value& value, const std::string& way, std::string& problem,
                   Address& member) {
    if (value == Value("")) return;
    auto address = value.is_string() ? ParseAddress(value.AsString()) : std::nullopt;
    if (!address) {
      return FailAt(way, fmt::format("holds `{}`, which is no address", value.AsString()), problem);
    }
    member = *std::move(address);
  }
  static void Read(const Value& value, const std::string& way, std::string& problem,
                   double& member) {
    if (!value.is_int() && !value.is_double()) return FailAt(way, "is not a number", problem);
    member = value.is_int() ? static_cast<double>(value.AsInt()) : value.AsDouble();
  }
  static void Read(const Value& value, const std::string& way, std::string& problem, bool& member) {
    if (!value.is_bool()) return FailAt(way, "is not true or false", problem);
    member = value.AsBool();
  }
  template <typename T>
  requires(std::integral<T> &&
           !std::same_as<T, bool>) static void Read(const Value& value, const std::string& way,
                                                    std::string& problem, T& member) {
    if (!value.is_int()) return FailAt(way, "is not a whole number", problem);
    const std::int64_t number = value.AsInt();
    if (!std::in_range<T>(number)) return FailAt(way, "is out of range", problem);
    member = static_cast<T>(number);
  }
  static void Read(const Value& value, const std::string& way, std::string& problem,
                   std::chrono::milliseconds& member) {
    constexpr std::int64_t kTenYears = std::int64_t{3650} * 24 * 3600 * 1000;
    if (!value.is_int()) return FailAt(way, "is not a whole number", problem);
    if (value.AsInt() < 0 || value.AsInt() > kTenYears) {
      return FailAt(way, "is out of range", problem);
    }
    member = std::chrono::milliseconds(value.AsInt());
  }
  template <typename E>
  requires std::is_enum_v<E>
  static void Read(const Value& value, const std::string& way, std::string& problem, E& member) {
    for (std::size_t i = 0; i < std::size(Words<E>::kAll); ++i) {
      if (value != Value(Words<E>::kAll[i])) continue;
      member = static_cast<E>(i);
      return;
    }
    FailAt(way, "has a word that is not known", problem);
  }
  template <typename T>
  static void Read(const Value& value, const std::string& way, std::string& problem,
                   std::vector<T>& member) {
    if (!value.is_list()) return FailAt(way, "is not a list", problem);
    member.reserve(value.AsList().size());
    for (const Value& item : value.AsList()) {
      const std::string item_way = fmt::format("{}[{}]", way, member.size());
      Read(item, item_way, problem, member.emplace_back());
      if (!problem.empty()) return;
    }
  }
  template <typename T>
  static void Read(const Value& value, const std::string& way, std::string& problem,
                   std::map<std::string, T>& member) {
    if (!value.is_map()) return FailAt(way, "is not an object", problem);
    for (const auto& [key, item] : value.AsMap()) {
      Read(item, way + "." + key, problem, member[key]);
      if (!problem.empty()) return;
    }
  }

  const Value& object_;
  std::string where_;
  std::string& problem_;
  std::set<std::string, std::less<>> known_;
};

// Members that are called as in `names`, "a, b", and a duration with "_ms" behind it.
template <typename Archive, typename... Ts>
void Take(Archive& archive, std::string_view names, Ts&... members) {
  const auto take = [&]<typename T>(T& member) {
    std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(std::min(names.size(), name.size() + 2));
    using M = std::remove_const_t<T>;
    using Wait = std::chrono::milliseconds;
    if (std::is_same_v<M, Wait> || std::is_same_v<M, std::optional<Wait>>) name += "_ms";
    archive(name.c_str(), member);
  };
  (take(members), ...);
}

// A kind that saves payloads of type P as their Members say.
template <typename P>
class KindOf : public Kind {
 public:
  Value WritePayload(const Payload& payload) const override {
    return Writer::ToValue(*payload.As<P>());
  }
  Payload ReadPayload(const Value& value, const std::string& way,
                      std::string* problem) const override {
    P payload;
    Reader::Read(value, way, *problem, payload);
    return {std::move(payload), this};
  }
};

}  // namespace podctl::plan_file

// Saves members of a struct that was taken apart, each under its own name.
#define PODCTL_SAVE(archive, ...) podctl::plan_file::Take(archive, #__VA_ARGS__, __VA_ARGS__)
// The description of a struct all of whose members are saved so; they are given in their order.
#define PODCTL_MEMBERS(Struct, ...)                      \
  template <typename A, podctl::plan_file::Of<Struct> S> \
  void Members(A& archive, S& its) {                     \
    auto& [__VA_ARGS__] = its;                           \
    PODCTL_SAVE(archive, __VA_ARGS__);                   \
  }

namespace podctl {

// ---- What places in a spec and the structs of the engine consist of in a saved plan: the only
// list of their names in the file. Kinds have Members of their own.
//
// Every description takes its struct apart with a structured binding, which no longer compiles when
// a member is added: whoever adds one decides here what it is called in the file, and whether an
// old file without it can still be understood (if not, kPlanFormatVersion goes up).

PODCTL_MEMBERS(SourcePlace, file, line, column, length, byte)

template <>
struct plan_file::Words<Drift::Kind> {
  static constexpr const char* kAll[] = {"changed",   "vanished", "terminal",
                                         "repairing", "stopped",  "unhealthy"};
};
template <>
struct plan_file::Words<PlanMode> {
  static constexpr const char* kAll[] = {"normal", "destroy", "refresh-only"};
};
template <>
struct plan_file::Words<ReasonCode> {
  static constexpr const char* kAll[] = {"none",       "cannot-update", "tainted",
                                         "by-request", "by-triggers",   "no-configuration"};
};
template <>
struct plan_file::Words<Verb> {
  static constexpr const char* kAll[] = {
      "keep",   "create", "update", "delete-then-create", "create-then-delete",
      "delete", "forget", "run"};
};

PODCTL_MEMBERS(AttributeChange, path, before, after, known, sensitive, forces_replacement, origin)

namespace plan_file {

// A payload: written by its kind, and read as the plain value, which OpenPayloads hands to it.
template <typename A, typename P>
void KindMember(A& archive, const std::string& kind, P& payload) {
  if constexpr (std::is_const_v<P>) {
    archive(kind.c_str(), payload.kind()->WritePayload(payload));
  } else {
    Value value;
    archive(kind.c_str(), value);
    payload = std::move(value);
  }
}

}  // namespace plan_file

template <typename A, plan_file::Of<Change> S>
void Members(A& archive, S& change) {
  auto& [address, previous_address, verb, begun, attributes, reason_code, reason, waits_for, place,
         payload] = change;
  PODCTL_SAVE(archive, address, previous_address, verb, begun, attributes, reason_code, reason,
              waits_for, place);
  plan_file::KindMember(archive, address.kind, payload);
}

PODCTL_MEMBERS(Drift, kind, address, sentence, attributes)
PODCTL_MEMBERS(ThingCost, address, what, before, after, unknown)
PODCTL_MEMBERS(PlanCost, currency, as_of, before, after, things)
PODCTL_MEMBERS(Plan, mode, targets, refreshed, changes, drift, lineage, serial, cost)

template <typename A, plan_file::Of<Precondition> S>
void Members(A& archive, S& saved) {
  auto& [address, value] = saved;
  archive("address", address);
  archive("stake", value);
}

}  // namespace podctl
