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
  return (name.ends_with(".yaml") || name.ends_with(".yml")) && !name.starts_with(".");
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

// The files of a folder, in name order.
std::vector<std::string> FilesOf(const std::string& folder, FileSystem& files, Problems& problems) {
  std::vector<std::string> paths;
  const auto names = files.List(folder);
  if (!names) {
    ReportUnreadable(folder, names.error(), false, problems);
    return paths;
  }
  for (const std::string& name : *names) {
    if (!IsYamlName(name)) continue;
    if (folder == ".") {
      paths.push_back(name);
    } else {
      paths.push_back(fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name));
    }
  }
  if (paths.empty()) problems.AddForFile(folder, "no *.yaml or *.yml in this folder");
  return paths;
}

std::string WithoutDotSlash(std::string path) {
  while (path.starts_with("./") && path.size() > 2) path = path.substr(2);
  return path;
}

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

std::vector<SpecDocument> ReadSpecFiles(const std::vector<std::string>& paths, FileSystem& files,
                                        Problems& problems,
                                        const std::map<std::string, std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    if (texts.count(path) > 0) {
      all.push_back(path);
      continue;
    }
    const auto info = files.Stat(path);
    if (info && info->kind == FileInfo::Kind::kFolder) {
      for (std::string& file : FilesOf(path, files, problems)) all.push_back(std::move(file));
    } else {
      all.push_back(path);
    }
  }
  if (paths.empty()) all.emplace_back(kDefaultSpecFile);
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
