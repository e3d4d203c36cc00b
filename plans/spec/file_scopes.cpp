#include "plans/spec/file_scopes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plans/spec/names.h"
#include "plans/spec/tree_merge.h"

namespace podctl {
namespace {

bool HasAny(const YamlNode& root, std::string_view key) {
  const YamlEntry* entry = root.Find(key);
  return entry != nullptr && entry->value->is_map() && !entry->value->entries.empty();
}

}  // namespace

void FileScopes::Add(const YamlNode& root, Kinds kinds) {
  Scope scope;
  scope.root = &root;
  scope.has_things = std::any_of(kinds.begin(), kinds.end(),
                                 [&](const Kind* kind) { return HasAny(root, kind->section()); });
  kinds_ = kinds;
  files_.push_back(root.file);
  scopes_[root.file] = std::move(scope);
}

void FileScopes::Settle(ValueReader& reader, const DefaultPlace& otherwise, Problems& problems) {
  SettleKey(reader, "project", &DefaultPlace::project, otherwise.project);
  SettleKey(reader, "zone", &DefaultPlace::zone, otherwise.zone);
  SettleDefaults(reader, problems);
}

void FileScopes::SettleKey(ValueReader& reader, const std::string& key, Member member,
                           const std::optional<std::string>& otherwise) {
  const Slot slot{"", key};
  const YamlEntry* common = nullptr;  // of a file without things
  std::map<std::string, const SourceFile*> said;
  std::optional<std::string> common_value;
  for (const SourceFile* file : files_) {
    Scope& scope = scopes_.at(file);
    const YamlEntry* entry = scope.root->Find(key);
    if (entry == nullptr) continue;
    const std::optional<std::string> value = reader.ReadPlain(*entry->value, slot);
    if (value) {
      key == "zone" ? CheckZone(reader, *entry->value, slot, *value)
                    : CheckProject(reader, *entry->value, slot, *value);
    }
    // One that is there but not usable counts as given: it has been reported.
    scope.place.*member = value.value_or("");
    said.emplace(value.value_or(""), file);
    if (scope.has_things) continue;
    if (common != nullptr && common_value != value) {
      reader.Conflict(*entry->key, slot, fmt::format("`{}` has two values", key), *common->key,
                      "the other one is here");
    }
    if (common == nullptr) common_value = value.value_or("");
    if (common == nullptr) common = entry;
  }
  std::optional<std::string> fallback = otherwise;
  if (said.size() == 1) fallback = said.begin()->first;
  if (common != nullptr) fallback = common_value;
  if (common == nullptr && said.size() > 1) {
    fallback = std::nullopt;
    for (const auto& [value, file] : said) {
      differ_[key] +=
          fmt::format("{}`{}` in {}", differ_[key].empty() ? "" : ", ", value, file->name());
    }
  }
  for (auto& [file, scope] : scopes_) {
    if (!(scope.place.*member)) scope.place.*member = fallback;
  }
  place_.*member = fallback;
}

void FileScopes::SettleDefaults(ValueReader& reader, Problems& problems) {
  const Slot slot{"", "defaults"};
  YamlNodePtr common;
  const YamlNode* others = nullptr;  // `defaults` of a file with things
  for (const SourceFile* file : files_) {
    Scope& scope = scopes_.at(file);
    const YamlEntry* entry = scope.root->Find("defaults");
    if (entry == nullptr || !reader.ExpectMap(*entry->value, slot)) continue;
    all_defaults_.push_back(entry->value);
    scope.defaults = entry->value;
    if (scope.has_things) {
      others = entry->key.get();
    } else {
      common =
          common == nullptr ? entry->value : MergeEqual(common, entry->value, "defaults", problems);
    }
  }
  for (const SourceFile* file : files_) {
    Scope& scope = scopes_.at(file);
    if (scope.defaults == nullptr && others != nullptr && scope.has_things) {
      WarnOfOthers(reader, *others, *scope.root);
    }
    if (common == nullptr || !scope.has_things) continue;
    scope.defaults = scope.defaults == nullptr ? common : MergeUnder(common, scope.defaults);
  }
}

// `others`: the key of another file's defaults.
void FileScopes::WarnOfOthers(ValueReader& reader, const YamlNode& others,
                              const YamlNode& root) const {
  for (const Kind* kind : kinds_) {
    if (!kind->takes_defaults()) continue;
    const std::string section(kind->section());
    const YamlEntry* entry = root.Find(section);
    if (entry == nullptr) continue;
    reader.Warn(*entry->key, {"", section},
                fmt::format("the `defaults` of {} hold for the {} of that file only",
                            others.file->name(), section),
                fmt::format("`defaults: {{}}` in this file says that this is meant; for all files "
                            "they stand in a file without {}",
                            section));
  }
}

std::string FileScopes::Cure(const std::string& key) const {
  const auto differ = differ_.find(key);
  if (differ == differ_.end()) return {};
  return fmt::format("other files say {}: set `{}` in this one too", differ->second, key);
}

}  // namespace podctl
