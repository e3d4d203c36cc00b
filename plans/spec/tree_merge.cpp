#include "plans/spec/tree_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace podctl {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kExclusive = {{
    {"acceleratorType", "acceleratorConfig"},
    {"networkConfig", "networkConfigs"},
}};

bool IsExcludedBy(std::string_view key, const YamlNode& over) {
  return std::any_of(kExclusive.begin(), kExclusive.end(), [&](const auto& pair) {
    return (key == pair.first && over.Find(pair.second) != nullptr) ||
           (key == pair.second && over.Find(pair.first) != nullptr);
  });
}

// `levels`: how many levels of maps are still merged.
YamlNodePtr MergeLevels(const YamlNodePtr& under, const YamlNodePtr& over, int levels,
                        bool is_pod) {
  if (!under->is_map() || !over->is_map() || levels == 0) return over;
  auto merged = std::make_shared<YamlNode>(*over);
  std::map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < over->entries.size(); ++i) {
    index.emplace(over->entries[i].key->text, i);
  }
  for (const YamlEntry& entry : under->entries) {
    const auto it = index.find(entry.key->text);
    if (it == index.end()) {
      if (!is_pod || !IsExcludedBy(entry.key->text, *over)) merged->entries.push_back(entry);
      continue;
    }
    const int below = is_pod && entry.key->text == "metadata" ? 1 : levels - 1;
    YamlNodePtr& value = merged->entries[it->second].value;
    value = MergeLevels(entry.value, value, below, false);
  }
  return merged;
}

constexpr int kAllLevels = 64;  // what yaml_tree lets through

bool IsSameScalarOrList(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!IsSameScalarOrList(*a.items[i], *b.items[i])) return false;
  }
  return a.entries.empty() && b.entries.empty();
}

}  // namespace

YamlNodePtr MergeUnder(const YamlNodePtr& under, const YamlNodePtr& over) {
  return MergeLevels(under, over, kAllLevels, true);
}

YamlNodePtr MergeEqual(const YamlNodePtr& first, const YamlNodePtr& second,
                       const std::string& context, Problems& problems) {
  auto merged = std::make_shared<YamlNode>(*first);
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < first->entries.size(); ++i) {
    index.emplace(first->entries[i].key->text, i);
  }
  for (const YamlEntry& entry : second->entries) {
    const auto it = index.find(entry.key->text);
    if (it == index.end()) {
      merged->entries.push_back(entry);
      continue;
    }
    YamlEntry& known = merged->entries[it->second];
    if (known.value->is_map() && entry.value->is_map()) {
      known.value = MergeEqual(known.value, entry.value, context + "." + entry.key->text, problems);
    } else if (!IsSameScalarOrList(*known.value, *entry.value)) {
      Diagnostic diagnostic =
          DiagnosticAt(*entry.key, entry.key->Place(),
                       fmt::format("`{}.{}` has two values", context, entry.key->text));
      diagnostic.context = context;
      const SourcePlace other = known.key->Place();
      diagnostic.related.push_back(
          {other, known.key->file->ShownLine(other.line), "the other one is here"});
      problems.Add(std::move(diagnostic));
    }
  }
  return merged;
}

}  // namespace podctl
