// Writes one JSON object of a state in its canonical form: compact, its members in the order of
// their keys, which is the order in which they must be given.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/value.h"
#include "state/address.h"

namespace podctl {

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
