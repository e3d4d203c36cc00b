// Takes a JSON object of a state apart, strictly.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/value.h"
#include "state/address.h"

namespace podctl {

inline constexpr int kMaxWorker = 99999;

// Takes the members out of one JSON object, each of which must be of its kind; those that say
// nothing when they are empty may be missing (Spare…), the others not. Remembers the first problem
// of the whole document in `problem`; after one, what is read is of no use.
class ObjectReader {
 public:
  ObjectReader(Value& object, std::string where, std::string& problem)
      : object_(object), where_(std::move(where)), problem_(problem) {
    if (!object_.is_map()) Fail("is not an object");
  }
  // Of an object that stands within this one, at `key`.
  ObjectReader Inner(Value& object, std::string_view key) const {
    return ObjectReader(object, where_ + "." + std::string(key), problem_);
  }

  std::string Text(std::string_view key) {
    return TakeText(Member(key), [&] { FailMember(key, "is not a string"); });
  }
  // A text within the object at `key`, which is to be read as a whole by somebody else.
  std::string TextIn(std::string_view key, std::string_view inner) const {
    return std::as_const(object_)[key][inner].AsString();
  }
  std::string SpareText(std::string_view key) { return IsThere(key) ? Text(key) : ""; }
  bool SpareFlag(std::string_view key) { return IsThere(key) && Flag(key); }
  std::vector<std::string> SpareTexts(std::string_view key) {
    return IsThere(key) ? Texts(key) : std::vector<std::string>();
  }
  std::map<std::string, std::string> SpareTextMap(std::string_view key) {
    return IsThere(key) ? TextMap(key) : std::map<std::string, std::string>();
  }
  bool IsThere(std::string_view key) const { return object_.Find(key) != nullptr; }
  bool Flag(std::string_view key) {
    const Value& value = Member(key);
    if (!value.is_bool()) FailMember(key, "is not true or false");
    return value.AsBool();
  }
  std::int64_t Number(std::string_view key, std::int64_t least, std::int64_t most) {
    const Value& value = Member(key);
    if (!value.is_int()) {
      FailMember(key, "is not a whole number");
      return least;
    }
    if (value.AsInt() < least || value.AsInt() > most) FailMember(key, "is out of range");
    return value.AsInt();
  }
  Value Any(std::string_view key) { return std::move(Member(key)); }
  // To be read where it stands.
  Value& At(std::string_view key) { return Member(key); }
  Value::Map& Map(std::string_view key) {
    Value& value = Member(key);
    if (!value.is_map()) FailMember(key, "is not an object");
    return value.MutableMap();
  }
  Value::List& List(std::string_view key) {
    Value& value = Member(key);
    if (!value.is_list()) FailMember(key, "is not a list");
    return value.MutableList();
  }
  std::vector<std::string> Texts(std::string_view key) {
    return TextList(Member(key), fmt::format("`{}`", key));
  }
  std::map<std::string, std::string> TextMap(std::string_view key) {
    std::map<std::string, std::string> texts;
    for (auto& [name, value] : Map(key)) {
      texts.emplace_hint(texts.end(), name, TakeText(value, [&] {
                           FailMember(key, "holds something other than strings");
                         }));
    }
    return texts;
  }
  Value* Optional(std::string_view key) {
    asked_.push_back(key);
    if (!object_.is_map()) return nullptr;
    auto found = object_.MutableMap().find(key);
    if (found == object_.MutableMap().end()) return nullptr;
    ++found_;
    return &found->second;
  }
  std::vector<std::string> TextList(Value& value, const std::string& what) {
    if (!value.is_list()) Fail(what + " is not a list");
    std::vector<std::string> texts;
    for (Value& item : value.MutableList()) {
      texts.push_back(TakeText(item, [&] { Fail(what + " holds something other than strings"); }));
    }
    return texts;
  }
  Address AddressIn(const std::string& text, std::string_view key) {
    const auto address = ParseAddress(text);
    if (!address) FailMember(key, fmt::format("holds `{}`, which is no address", text));
    return address.value_or(Address{});
  }
  std::vector<Address> SpareAddresses(std::string_view key) {
    std::vector<Address> addresses;
    for (const std::string& text : SpareTexts(key)) addresses.push_back(AddressIn(text, key));
    return addresses;
  }
  // "0", "12": a worker's number as written by this room, so not "007".
  int Worker(const std::string& text) {
    int worker = -1;
    const char* end = text.data() + text.size();
    auto [rest, code] = std::from_chars(text.data(), end, worker);
    if (code != std::errc() || rest != end || worker < 0 || worker > kMaxWorker ||
        std::to_string(worker) != text) {
      Fail(fmt::format("has a worker with a bad number, `{}`", text));
    }
    return worker;
  }
  // Call last: what this podctl does not know it would drop with the next save.
  void RefuseUnknownMembers() {
    if (found_ == object_.AsMap().size()) return;
    for (const auto& [key, value] : object_.AsMap()) {
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
        Fail(fmt::format("has an unknown key `{}`", key));
      }
    }
  }
  void Fail(const std::string& what) {
    if (problem_.empty()) problem_ = where_.empty() ? "the document " + what : where_ + " " + what;
  }

 private:
  template <typename OnWrongKind>
  static std::string TakeText(Value& value, const OnWrongKind& on_wrong_kind) {
    if (!value.is_string()) {
      on_wrong_kind();
      return {};
    }
    return std::move(value.MutableString());
  }
  Value& Member(std::string_view key) {
    if (Value* found = Optional(key)) return *found;
    FailMember(key, "is missing");
    missing_ = Value();
    return missing_;
  }
  void FailMember(std::string_view key, std::string_view what) {
    if (!problem_.empty()) return;
    problem_ = where_.empty() ? fmt::format("`{}` {}", key, what)
                              : fmt::format("`{}` of {} {}", key, where_, what);
  }

  Value& object_;
  std::string where_;
  std::string& problem_;
  // Each once, and from literals; as many as a record has, without a word to the heap.
  boost::container::small_vector<std::string_view, 24> asked_;
  std::size_t found_ = 0;
  Value missing_;
};

// ---- Writes one JSON object of a state in its canonical form: compact, its members in the order
// of their keys, which is the order in which they must be given.

class ObjectWriter {
 public:
  explicit ObjectWriter(std::string* out) : out_(out) { *out_ += '{'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;
  ~ObjectWriter() { *out_ += '}'; }

  // The place of the member's value.
  std::string* Key(std::string_view key) {
    if (!first_) *out_ += ',';
    first_ = false;
    AppendJsonText(key, out_);
    *out_ += ':';
    return out_;
  }
  // A struct is written by a function `void PutMembers(const T&, ObjectWriter&)` beside it.
  template <typename T>
  void Member(std::string_view key, const T& value) {
    Put(value, Key(key));
  }
  // What says nothing when it is empty (zero, false), as most of a record does, is left out.
  template <typename T>
  void Spare(std::string_view key, const T& value) {
    if (value != T()) Member(key, value);
  }

 private:
  static void Put(std::string_view text, std::string* out) { AppendJsonText(text, out); }
  static void Put(const std::string& text, std::string* out) { AppendJsonText(text, out); }
  static void Put(const Value& value, std::string* out) { AppendJson(value, out); }
  static void Put(const Address& address, std::string* out) { Put(address.Text(), out); }
  template <std::integral Number>
  static void Put(Number number, std::string* out) {
    if constexpr (std::same_as<Number, bool>) {
      *out += number ? "true" : "false";
    } else {
      *out += fmt::format_int(number).c_str();
    }
  }
  template <typename Item>
  static void Put(const std::vector<Item>& items, std::string* out) {
    *out += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) *out += ',';
      Put(items[i], out);
    }
    *out += ']';
  }
  template <typename Item>
  static void Put(const std::map<std::string, Item>& items, std::string* out) {
    ObjectWriter object(out);
    for (const auto& [key, item] : items) object.Member(key, item);
  }
  // Workers by number as text, so "10" before "2".
  template <typename Item>
  static void Put(const std::map<int, Item>& workers, std::string* out) {
    std::map<std::string, const Item*> by_text;
    for (const auto& [worker, item] : workers) by_text[std::to_string(worker)] = &item;
    ObjectWriter object(out);
    for (const auto& [worker, item] : by_text) object.Member(worker, *item);
  }
  template <typename T>
  requires requires(const T& it, ObjectWriter& writer) { PutMembers(it, writer); }
  static void Put(const T& it, std::string* out) {
    ObjectWriter object(out);
    PutMembers(it, object);
  }

  std::string* out_;
  bool first_ = true;
};

}  // namespace podctl
