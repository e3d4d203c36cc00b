#include "plans/spec/spec_files.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

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
std::string Below(const std::string& folder, const std::string& name) {
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
      const std::string path = Below(folder, name);
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

SpecDocument ParseDocument(const std::string& path, std::string text, Problems& problems) {
  SpecDocument document;
  document.file = std::make_unique<SourceFile>(path, std::move(text));
  Diagnostics found;
  document.root = ParseYaml(*document.file, found, kLimits);
  for (const Diagnostic& diagnostic : found.items()) problems.Add(diagnostic);
  if (document.root == nullptr || document.root->is_null()) {
    if (!found.has_errors()) problems.AddForFile(path, "the file is empty");
    document.root = nullptr;
  } else if (!document.root->is_map()) {
    Diagnostic diagnostic = DiagnosticAt(*document.root, document.root->Place(),
                                         "the file must hold a map of keys and values");
    problems.Add(std::move(diagnostic));
    document.root = nullptr;
  }
  return document;
}

}  // namespace

SpecDocument ReadYamlFile(const std::string& path, FileSystem& files, Problems& problems) {
  auto text = files.Read(path, kLimits.max_bytes);
  if (text) return ParseDocument(path, std::move(*text), problems);
  ReportUnreadable(path, text.error(), path == kDefaultSpecFile, problems);
  SpecDocument document;
  document.file = std::make_unique<SourceFile>(path, "");
  return document;
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

}  // namespace podctl
