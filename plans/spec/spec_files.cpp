#include "plans/spec/spec_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "plans/spec/names.h"

namespace podctl {
namespace {

constexpr std::size_t kMostFiles = 1000;
constexpr YamlLimits kLimits{};

bool IsYamlName(const std::string& name) {
  const bool is_variables = name.ends_with(".vars.yaml") || name.ends_with(".vars.yml");
  return (name.ends_with(".yaml") || name.ends_with(".yml")) && !is_variables;
}

void ReportUnreadable(const std::string& path, const Error& error, bool is_default,
                      Problems& problems) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      problems.AddForFile(path, "there is no such file",
                          is_default ? "`podctl init` writes one; -f names another" : "");
      return;
    case ErrorCode::kPermissionDenied:
      problems.AddForFile(path, "the file cannot be read: permission denied");
      return;
    default:
      problems.AddForFile(path, "the file cannot be read: " + error.message, error.hint);
  }
}

std::string WithoutDotSlash(std::string path) {
  while (path.starts_with("./") && path.size() > 2) path = path.substr(2);
  return path;
}

// `name` in `folder`, as a user would write it.
std::string InFolder(const std::string& folder, const std::string& name) {
  if (folder == ".") return name;
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

// Finds the files of folders.
class FolderWalk {
 public:
  FolderWalk(const SpecSearch& search, FileSystem& files, Problems& problems)
      : search_(search), files_(files), problems_(problems) {
    for (const std::string& path : search.var_files) var_files_.insert(WithoutDotSlash(path));
  }

  std::vector<std::string> FilesOf(const std::string& folder) {
    found_.clear();
    if (!Walk(folder, 0)) return {};
    if (found_.empty()) problems_.AddForFile(folder, "no *.yaml or *.yml in this folder");
    return std::move(found_);
  }

 private:
  static constexpr int kMostLevels = 64;
  static constexpr std::size_t kMostNames = 100'000;

  bool Walk(const std::string& folder, int level) {
    const auto names = files_.List(folder);
    if (!names) {
      ReportUnreadable(folder, names.error(), false, problems_);
      return false;
    }
    names_ += names->size();
    if (search_.recursive && (level > kMostLevels || names_ > kMostNames)) {
      problems_.AddForFile(folder,
                           level > kMostLevels
                               ? fmt::format("more than {} folders deep", kMostLevels)
                               : fmt::format("more than {} files", kMostNames),
                           "name the folders that hold specs");
      return false;
    }
    for (const std::string& name : *names) {
      if (name.starts_with(".")) continue;
      const std::string path = InFolder(folder, name);
      if (search_.recursive && IsOwnFolder(path)) {
        if (!Walk(path, level + 1)) return false;
      } else if (IsYamlName(name) && !var_files_.contains(WithoutDotSlash(path))) {
        found_.push_back(path);
      }
    }
    return true;
  }

  // A link may lead out of the repository, or back up.
  bool IsOwnFolder(const std::string& path) {
    const auto info = files_.Stat(path);
    if (!info || info->kind != FileInfo::Kind::kFolder) return false;
    const auto end = files_.FollowLinks(path);
    return end && *end == path;
  }

  const SpecSearch& search_;
  FileSystem& files_;
  Problems& problems_;
  std::set<std::string> var_files_;
  std::vector<std::string> found_;
  std::size_t names_ = 0;
};

SpecDocument ParseDocument(const std::string& path, std::string text, Problems& problems,
                           bool of_variables = false) {
  SpecDocument document;
  document.file = std::make_unique<SourceFile>(path, std::move(text));
  if (of_variables) document.file->HideLines();
  Diagnostics found;
  document.root = ParseYaml(*document.file, found, kLimits);
  for (const Diagnostic& diagnostic : found.items()) problems.Add(diagnostic);
  if (document.root == nullptr || document.root->is_null()) {
    if (!found.has_errors()) problems.AddForFile(path, "the file is empty");
    document.root = nullptr;
  } else if (!document.root->is_map()) {
    problems.Add(DiagnosticAt(*document.root, document.root->Place(),
                              "the file must hold a map of keys and values"));
    document.root = nullptr;
  }
  return document;
}

SpecDocument ReadYamlFile(const std::string& path, FileSystem& files, Problems& problems,
                          bool of_variables = false) {
  auto text = files.Read(path, kLimits.max_bytes);
  if (text) return ParseDocument(path, std::move(*text), problems, of_variables);
  ReportUnreadable(path, text.error(), path == kDefaultSpecFile, problems);
  SpecDocument document;
  document.file = std::make_unique<SourceFile>(path, "");
  return document;
}

}  // namespace

SpecDocument ReadVariableFile(const std::string& path, FileSystem& files, Problems& problems) {
  return ReadYamlFile(path, files, problems, true);
}

std::vector<SpecDocument> ReadSpecFiles(const std::vector<std::string>& paths,
                                        const SpecSearch& search, FileSystem& files,
                                        Problems& problems,
                                        const std::map<std::string, std::string>& texts) {
  std::vector<std::string> all;
  FolderWalk walk(search, files, problems);
  bool has_folder = false;
  for (const std::string& path : paths) {
    if (texts.count(path) > 0) {
      all.push_back(path);
      continue;
    }
    const auto info = files.Stat(path);
    if (info && info->kind == FileInfo::Kind::kFolder) {
      has_folder = true;
      for (std::string& file : walk.FilesOf(path)) all.push_back(std::move(file));
    } else {
      all.push_back(path);
    }
  }
  if (paths.empty()) all.emplace_back(kDefaultSpecFile);
  if (search.recursive && !has_folder) {
    problems.AddForFile("", "`--recursive` goes down into a folder, and none is named",
                        "name one: -f DIR -R");
  }
  std::vector<SpecDocument> documents;
  if (all.size() > kMostFiles) {
    problems.AddForFile("",
                        fmt::format("{} files are too many, {} at most", all.size(), kMostFiles));
    return documents;
  }
  std::set<std::string> seen;
  for (const std::string& path : all) {
    const std::string plain = WithoutDotSlash(path);
    if (!seen.insert(plain).second) continue;
    const auto given = texts.find(plain);
    documents.push_back(given == texts.end() ? ReadYamlFile(plain, files, problems)
                                             : ParseDocument(plain, given->second, problems));
  }
  return documents;
}

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
                       const std::string& context, ValueReader& reader) {
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
      known.value = MergeEqual(known.value, entry.value, context + "." + entry.key->text, reader);
    } else if (!IsSameScalarOrList(*known.value, *entry.value)) {
      reader.Conflict(*entry.key, {context, entry.key->text},
                      fmt::format("`{}.{}` has two values", context, entry.key->text), *known.key,
                      "the other one is here");
    }
  }
  return merged;
}

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

void FileScopes::Settle(ValueReader& reader, const DefaultPlace& otherwise) {
  SettleKey(reader, "project", &DefaultPlace::project, otherwise.project);
  SettleKey(reader, "zone", &DefaultPlace::zone, otherwise.zone);
  SettleDefaults(reader);
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

void FileScopes::SettleDefaults(ValueReader& reader) {
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
          common == nullptr ? entry->value : MergeEqual(common, entry->value, "defaults", reader);
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
