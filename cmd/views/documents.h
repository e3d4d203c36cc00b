// What the documents and events of --json are put together from.
#pragma once

#include <string>
#include <string_view>

#include "providers/base/value.h"
#include "providers/worker.h"

namespace podctl {

// What `make` makes of each item.
template <typename Items, typename Make>
Value ListOf(const Items& items, const Make& make) {
  Value::List list;
  for (const auto& item : items) list.push_back(make(item));
  return list;
}
// Texts or numbers, as they are.
template <typename Items>
Value ListOf(const Items& items) {
  return Value::List(items.begin(), items.end());
}

// null in the place of an empty text.
inline Value OrNull(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

// An event about one worker.
inline Value WorkerEvent(std::string_view type, const WorkerAccess& worker) {
  return Value::Map{
      {"format_version", "1.0"}, {"type", type}, {"pod", worker.pod}, {"worker", worker.index}};
}

}  // namespace podctl
