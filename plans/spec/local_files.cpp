#include "plans/spec/local_files.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "providers/base/digest.h"
#include "providers/base/foreign_text.h"

namespace podctl {
namespace {

constexpr std::uint64_t kLargestMetadataFile = 256u << 10;
constexpr std::uint64_t kLargestStepFile = 64u << 20;
constexpr std::uint64_t kMostStepBytes = 256u << 20;
constexpr int kMostStepFiles = 4096;
constexpr int kDeepestFolder = 32;

std::string Sentence(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      return "there is no such file";
    case ErrorCode::kPermissionDenied:
      return "permission denied";
    default:
      return error.message;
  }
}

std::string ProblemAndCure(const Error& error) {
  return error.hint.empty() ? error.message : fmt::format("{}. {}", error.message, error.hint);
}

// Walks the sources of one step.
class ContentDigest {
 public:
  ContentDigest(FileSystem& files, const WithheldFiles& withheld)
      : files_(files), withheld_(withheld) {}

  // What went wrong, or "".
  std::string Add(const StepFile& source) {
    const CopySource within(withheld_, source.source);
    return Add(within, source.source, source.destination, 0);
  }

  std::string Digest() const { return Sha256Hex(list_); }

 private:
  std::string Add(const CopySource& within, const std::string& path, const std::string& name,
                  int depth) {
    const auto takes = within.Takes(path);
    if (!takes) return ProblemAndCure(takes.error());
    if (!*takes) return "";
    const auto info = files_.Stat(path);
    if (!info) return LocalFileProblem(path, info.error());
    if (++count_ > kMostStepFiles) return fmt::format("more than {} files", kMostStepFiles);
    if (info->kind == FileInfo::Kind::kFolder) return AddFolder(within, path, name, depth);
    const auto bytes = files_.Read(path, kLargestStepFile);
    if (!bytes) return fmt::format("`{}`: {}", path, Sentence(bytes.error()));
    total_ += bytes->size();
    if (total_ > kMostStepBytes) {
      return fmt::format("more than {} MiB of files", kMostStepBytes >> 20);
    }
    const bool is_executable = (info->mode & 0100) != 0;
    list_ += fmt::format("{} {} {}\n", Sha256Hex(*bytes), is_executable ? "x" : "-", name);
    return "";
  }

  std::string AddFolder(const CopySource& within, const std::string& path, const std::string& name,
                        int depth) {
    if (depth > kDeepestFolder) return fmt::format("`{}` is nested too deep", path);
    const auto names = files_.List(path);
    if (!names) return fmt::format("`{}`: {}", path, Sentence(names.error()));
    list_ += fmt::format("folder {}\n", name);
    for (const std::string& child : *names) {
      if (std::string problem = Add(within, fmt::format("{}/{}", path, child),
                                    fmt::format("{}/{}", name, child), depth + 1);
          !problem.empty()) {
        return problem;
      }
    }
    return "";
  }

  FileSystem& files_;
  const WithheldFiles& withheld_;
  std::string list_;
  std::uint64_t total_ = 0;
  int count_ = 0;
};

}  // namespace

std::string LocalFileProblem(const std::string& path, const Error& error) {
  // A source may be either.
  return fmt::format("`{}`: {}{}", path, Sentence(error),
                     error.code == ErrorCode::kNotFound ? " or folder" : "");
}

std::string PathFromSpec(const YamlNode& node, const std::string& path) {
  std::string expanded = ExpandHome(path);
  const std::string folder = node.file->Folder();
  if (expanded.starts_with("./") && expanded.size() > 2) expanded = expanded.substr(2);
  if (expanded.starts_with("/") || folder == ".") return expanded;
  return folder.ends_with('/') ? folder + expanded : folder + "/" + expanded;
}

std::string PathFrom(const std::string& folder, const std::string& path) {
  if (folder.empty() || path.starts_with("/") || path.starts_with("~")) return path;
  return folder + "/" + path;
}

std::optional<std::string> ReadTextFile(ValueReader& reader, FileSystem& files,
                                        const YamlNode& node, const Slot& slot,
                                        const std::string& path) {
  if (const std::string why = reader.withheld().Why(path); !why.empty()) {
    reader.Error(node, slot, fmt::format("the file `{}` {}: a spec cannot read it", path, why));
    return std::nullopt;
  }
  auto text = files.Read(path, kLargestMetadataFile);
  if (!text) {
    reader.Error(node, slot,
                 fmt::format("the file `{}` cannot be read: {}", path, Sentence(text.error())));
    return std::nullopt;
  }
  if (FindInvalidUtf8(*text) != std::string::npos || text->find('\0') != std::string::npos) {
    reader.Error(node, slot, fmt::format("the file `{}` is no UTF-8 text", path));
    return std::nullopt;
  }
  return std::move(*text);
}

std::optional<std::string> DigestFiles(ValueReader& reader, FileSystem& files,
                                       const std::vector<StepFile>& sources,
                                       const std::vector<const YamlNode*>& at, const Slot& slot) {
  ContentDigest digester(files, reader.withheld());
  bool ok = true;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string problem = digester.Add(sources[i]);
    if (problem.empty()) continue;
    reader.Error(*at[i], slot, problem);
    ok = false;
  }
  if (!ok) return std::nullopt;
  return digester.Digest();
}

Result<std::string> DigestFiles(FileSystem& files, const std::vector<StepFile>& sources,
                                const WithheldFiles& withheld) {
  ContentDigest digester(files, withheld);
  for (const StepFile& source : sources) {
    const std::string problem = digester.Add(source);
    if (!problem.empty()) return MakeError(ErrorCode::kIo, problem);
  }
  return digester.Digest();
}

}  // namespace podctl
