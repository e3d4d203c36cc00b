#include "providers/base/redactor.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::size_t kShortestHidden = 4;
constexpr std::size_t kShortestLine = 8;  // of a value of several
constexpr std::string_view kInPlaceOfHidden = "(sensitive value)";

// The longest first: one may be a part of another.
struct LongerFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  }
};

struct HiddenValues {
  std::shared_mutex mutex;
  std::set<std::string, LongerFirst> values;
};

HiddenValues& Hidden() {
  static HiddenValues hidden;
  return hidden;
}

bool HoldsErrors(const Value& value) {
  if (value.is_list()) {
    return std::any_of(value.AsList().begin(), value.AsList().end(), HoldsErrors);
  }
  return value.is_map() &&
         std::any_of(value.AsMap().begin(), value.AsMap().end(), [](const auto& member) {
           return member.first == "error" || HoldsErrors(member.second);
         });
}

void RedactText(const std::set<std::string, LongerFirst>& values, std::string* text) {
  for (const std::string& value : values) {
    for (auto at = text->find(value); at != std::string::npos;
         at = text->find(value, at + kInPlaceOfHidden.size())) {
      text->replace(at, value.size(), kInPlaceOfHidden);
    }
  }
}

// `inside`: of an error.
void RedactBelow(const std::set<std::string, LongerFirst>& values, bool inside, Value* value) {
  constexpr std::array<std::string_view, 3> kWords = {"@type", "reason", "status"};
  if (value->is_string() && inside) {
    std::string text = value->AsString();
    RedactText(values, &text);
    *value = Value(std::move(text));
  } else if (value->is_list()) {
    for (Value& item : value->MutableList()) RedactBelow(values, inside, &item);
  } else if (value->is_map()) {
    for (auto& [key, member] : value->MutableMap()) {
      const bool word = std::find(kWords.begin(), kWords.end(), key) != kWords.end();
      if (!(inside && word)) RedactBelow(values, inside || key == "error", &member);
    }
  }
}

}  // namespace

void HideInErrors(std::string_view value) {
  const std::string_view whole = TrimBlanks(value);
  if (whole.size() < kShortestHidden) return;
  const std::string quoted = ToJson(Value(std::string(whole)));
  HiddenValues& hidden = Hidden();
  std::unique_lock lock(hidden.mutex);
  hidden.values.emplace(value);
  hidden.values.emplace(whole);
  hidden.values.insert(quoted.substr(1, quoted.size() - 2));
  if (whole.find('\n') == std::string_view::npos) return;
  std::string flat(whole);
  std::replace(flat.begin(), flat.end(), '\n', ' ');
  hidden.values.insert(std::move(flat));
  for (const std::string& each : SplitLines(whole)) {
    const std::string_view line = TrimBlanks(each);
    if (line.size() < kShortestLine) continue;
    const std::string as_json = ToJson(Value(std::string(line)));
    hidden.values.emplace(line);
    hidden.values.insert(as_json.substr(1, as_json.size() - 2));
  }
}

std::string RedactedError(const std::string& body) {
  HiddenValues& hidden = Hidden();
  std::shared_lock lock(hidden.mutex);
  if (hidden.values.empty()) return body;
  if (Result<Value> json = ParseJson(body)) {
    RedactBelow(hidden.values, true, &*json);
    return ToJson(*json);
  }
  std::string text = body;
  RedactText(hidden.values, &text);
  return text;
}

void RedactErrors(Value* answer) {
  HiddenValues& hidden = Hidden();
  std::shared_lock lock(hidden.mutex);
  if (hidden.values.empty() || !HoldsErrors(*answer)) return;
  RedactBelow(hidden.values, false, answer);
}

}  // namespace podctl
