#include "cmd/views/state_diff_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cmd/views/paint.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/state_json.h"

namespace podctl {
namespace {

using Leaves = std::map<std::string, Value>;
constexpr const char* kHiddenValue = "(sensitive value)";

// By paths such as `applied.acceleratorType` and `objects[0].life`.
void AddLeavesOf(const Value& value, const std::string& path, Leaves* leaves) {
  if (value.is_map() && !value.AsMap().empty()) {
    for (const auto& [key, member] : value.AsMap()) {
      AddLeavesOf(member, path.empty() ? std::string(key) : path + "." + std::string(key), leaves);
    }
  } else if (value.is_list() && !value.AsList().empty()) {
    const Value::List& list = value.AsList();
    for (std::size_t i = 0; i < list.size(); ++i) {
      AddLeavesOf(list[i], fmt::format("{}[{}]", path, i), leaves);
    }
  } else {
    leaves->emplace(path, value);
  }
}

Leaves LeavesOf(const std::optional<AnyRecord>& record) {
  Leaves leaves;
  if (!record) return leaves;
  const Result<Value> value = ParseJson(RecordToJson(*record));
  if (!value) return leaves;
  for (const auto& [key, member] : value->AsMap()) {
    if (key == "type") continue;  // the address says it
    AddLeavesOf(member, key == "payload" ? "" : std::string(key), &leaves);
  }
  return leaves;
}

// Of a value that is kept as a digest.
bool IsHidden(const RecordChange& change, const std::string& path) {
  constexpr std::string_view kMetadata = "metadata.";
  if (change.address.kind != kPodKind || !path.starts_with(kMetadata)) return false;
  const std::string key = path.substr(kMetadata.size());
  const auto hides = [&](const std::optional<AnyRecord>& record) {
    return record && IsSensitive(record->As<PodRecord>(), key);
  };
  return hides(change.before) || hides(change.after);
}

struct LeafChange {
  std::string path;
  std::optional<Value> before;
  std::optional<Value> after;
};

std::vector<LeafChange> LeafChanges(const RecordChange& change) {
  std::vector<LeafChange> changes;
  const auto shown = [&](const std::string& path, const Value* value) {
    if (value == nullptr) return std::optional<Value>();
    return std::optional<Value>(IsHidden(change, path) ? Value(kHiddenValue) : *value);
  };
  EachOf(LeavesOf(change.before), LeavesOf(change.after),
         [&](const std::string& path, const Value* before, const Value* after) {
           if (before != nullptr && after != nullptr && *before == *after) return;
           changes.push_back({path, shown(path, before), shown(path, after)});
         });
  return changes;
}

// How something came from the one state to the other.
struct Came {
  const char* mark;
  const char* word;
  Ink ink;
};

Came HowItCame(bool before, bool after) {
  if (before && after) return {"~", "changed", Ink::kYellow};
  return after ? Came{"+", "added", Ink::kGreen} : Came{"-", "removed", Ink::kRed};
}

std::map<std::string, std::size_t> CountsOf(const std::vector<RecordChange>& changes) {
  std::map<std::string, std::size_t> counts = {{"added", 0}, {"changed", 0}, {"removed", 0}};
  for (const RecordChange& change : changes) {
    ++counts[HowItCame(change.before.has_value(), change.after.has_value()).word];
  }
  return counts;
}

std::string ShownLeaf(const Value& value) {
  if (value == Value(kHiddenValue)) return kHiddenValue;
  return VisibleControls(ShortJson(value));
}

std::string BlockOf(const RecordChange& change, const Paint& paint) {
  const Came came = HowItCame(change.before.has_value(), change.after.has_value());
  const std::string address = VisibleControls(change.address.Text());
  std::string text = fmt::format("  # {} was {}\n  {} {} {{\n", paint(Ink::kBold, address),
                                 came.word, paint(came.ink, came.mark), address);
  const std::vector<LeafChange> leaves = LeafChanges(change);
  std::size_t width = 0;
  for (const LeafChange& leaf : leaves) width = std::max(width, VisibleControls(leaf.path).size());
  for (const LeafChange& leaf : leaves) {
    const Came how = HowItCame(leaf.before.has_value(), leaf.after.has_value());
    text += fmt::format(
        "      {} {:<{}} = {}{}{}\n", paint(how.ink, how.mark), VisibleControls(leaf.path), width,
        leaf.before ? ShownLeaf(*leaf.before) : "", leaf.before && leaf.after ? " -> " : "",
        leaf.after ? ShownLeaf(*leaf.after) : "");
  }
  return text + "    }\n\n";
}

}  // namespace

std::string StateDiffText(const std::vector<RecordChange>& changes, const StateSides& sides,
                          bool color) {
  const std::string between = fmt::format("{} and {}", sides.before, sides.after);
  if (changes.empty()) return fmt::format("No differences: {} remember the same.\n", between);
  const Paint paint(color);
  std::string text;
  for (const RecordChange& change : changes) text += BlockOf(change, paint);
  const auto counts = CountsOf(changes);
  return text + fmt::format("Between {}: {} added, {} changed, {} removed.\n", between,
                            counts.at("added"), counts.at("changed"), counts.at("removed"));
}

Value StateDiffDocument(const std::vector<RecordChange>& changes, const StateSides& sides) {
  Value::List list;
  for (const RecordChange& change : changes) {
    Value attributes = Value::EmptyMap();
    for (const LeafChange& leaf : LeafChanges(change)) {
      Value one = Value::EmptyMap();
      if (leaf.before) one.Set("before", *leaf.before);
      if (leaf.after) one.Set("after", *leaf.after);
      attributes.Set(leaf.path, std::move(one));
    }
    list.push_back(
        Value::Map{{"address", change.address.Text()},
                   {"action", HowItCame(change.before.has_value(), change.after.has_value()).word},
                   {"attributes", std::move(attributes)}});
  }
  Value document =
      Value::Map{{"before", sides.before}, {"after", sides.after}, {"changes", std::move(list)}};
  for (const auto& [word, count] : CountsOf(changes)) {
    document.Set(word, static_cast<std::uint64_t>(count));
  }
  return document;
}

}  // namespace podctl
