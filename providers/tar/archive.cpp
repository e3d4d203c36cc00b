#include "providers/tar/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "providers/tar/header.h"

namespace podctl::tar {
namespace {

constexpr std::size_t kMostOpen = 16;

}  // namespace

std::string BaseName(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

std::uint64_t Archive::Entry::end() const {
  return begin + header + size + Padding(size);
}

Result<std::unique_ptr<Archive>> Archive::Of(FileSystem& files,
                                             const std::vector<std::string>& sources,
                                             const ExcludeFilter& exclude,
                                             const CopySource* within) {
  std::unique_ptr<Archive> archive(new Archive);
  std::set<std::string> names;
  for (const std::string& source : sources) {
    std::string name = BaseName(source);
    if (name == "." || name == ".." || name == "/" || name.empty()) {
      std::error_code problem;
      name = BaseName(std::filesystem::canonical(source, problem).string());
      if (problem || name.empty()) {
        return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` has no name", source),
                         "Name a file or a folder below the root.");
      }
    }
    if (!names.insert(name).second) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("two of the sources are called `{}`", name),
                       "The second would replace the first; copy them one after the other.");
    }
    const auto add = [&](const std::string& path, const std::string& as, const FileInfo& info) {
      return archive->Add(path, as, info, within);
    };
    if (auto added = Walk(files, source, name, exclude, add, within); !added) return added.error();
  }
  archive->size_ += EndBlocks().size();
  return archive;
}

void Archive::Append(Entry entry) {
  entry.begin = size_;
  entry.header = entry.path.empty()
                     ? HeaderBlocks({entry.name, 0, entry.mode, Kind::kFolder}).size()
                     : HeaderBlocks({entry.name, entry.size, entry.mode, Kind::kFile}).size();
  size_ = entry.end();
  bytes_ += entry.size;
  files_ += entry.path.empty() ? 0 : 1;
  entries_.push_back(std::move(entry));
}

Result<void> Archive::Add(const std::string& source, const std::string& name, const FileInfo& info,
                          const CopySource* within) {
  if (entries_.size() >= kMaxEntries) {
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("more than {} files and folders to copy", kMaxEntries));
  }
  if (info.kind == FileInfo::Kind::kFolder) {
    Append({0, "", name + "/", 0, info.mode, 0, {}});
    return {};
  }
  // Whether it can be read is better known now than in the middle.
  auto file = InputFile::Open(source);
  if (!file) return file.error();
  FileNumber judged;
  if (within != nullptr) {
    const auto takes = within->Judge(source, file->RealPath());
    if (!takes) return takes.error();
    if (!*takes) return {};
    judged = file->number();
  }
  Append({0, source, name, file->size(), info.mode, 0, judged});
  return {};
}

Result<void> Walk(FileSystem& files, const std::string& source, const std::string& name,
                  const ExcludeFilter& exclude, const Visit& visit, const CopySource* within,
                  int depth) {
  if (exclude && exclude(name)) return {};
  if (depth > kMaxDepth) {
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("`{}` lies more than {} folders deep", source, kMaxDepth));
  }
  if (within != nullptr) {
    const auto takes = within->Takes(source);
    if (!takes) return takes.error();
    if (!*takes) return {};
  }
  const Result<FileInfo> info = files.Stat(source);
  if (!info) return info.error();
  if (info->kind == FileInfo::Kind::kOther) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("`{}` is neither a file nor a folder", source));
  }
  if (auto visited = visit(source, name, *info); !visited) return visited;
  if (info->kind == FileInfo::Kind::kFile) return {};
  const Result<std::vector<std::string>> names = files.List(source);
  if (!names) return names.error();
  const auto below = [](const std::string& folder, const std::string& each) {
    return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", each);
  };
  for (const std::string& each : *names) {
    auto walked =
        Walk(files, below(source, each), below(name, each), exclude, visit, within, depth + 1);
    if (!walked) return walked;
  }
  return {};
}

std::size_t Archive::Read(std::uint64_t offset, char* bytes, std::size_t size) {
  const std::lock_guard lock(mutex_);
  std::size_t done = 0;
  auto entry =
      std::upper_bound(entries_.begin(), entries_.end(), offset,
                       [](std::uint64_t at, const Entry& each) { return at < each.end(); });
  while (done < size && offset + done < size_) {
    if (entry == entries_.end()) {
      const auto rest = std::min<std::uint64_t>(size - done, size_ - offset - done);
      std::memset(bytes + done, 0, rest);
      return done + rest;
    }
    done += ReadEntry(*entry, offset + done, bytes + done, size - done);
    if (offset + done >= entry->end()) ++entry;
  }
  return done;
}

// As many of the bytes as lie in one part of the entry.
std::size_t Archive::ReadEntry(const Entry& entry, std::uint64_t offset, char* bytes,
                               std::size_t size) {
  const std::uint64_t inside = offset - entry.begin;
  if (inside < entry.header) {
    const Kind kind = entry.path.empty() ? Kind::kFolder : Kind::kFile;
    const std::string blocks = HeaderBlocks({entry.name, entry.size, entry.mode, kind});
    return blocks.copy(bytes, size, inside);
  }
  const std::uint64_t data = inside - entry.header;
  if (data < entry.size) {
    return ReadData(entry, data, bytes, std::min<std::uint64_t>(size, entry.size - data));
  }
  const auto rest = std::min<std::uint64_t>(size, entry.end() - offset);
  std::memset(bytes, 0, rest);
  return rest;
}

std::size_t Archive::ReadData(const Entry& entry, std::uint64_t offset, char* bytes,
                              std::size_t size) {
  std::size_t got = 0;
  if (InputFile* file = Open(entry); file != nullptr) {
    const auto read = file->ReadAt(offset, bytes, size);
    if (!read && !trouble_) trouble_ = read.error();
    if (read) got = *read;
  }
  if (got > 0) return got;
  if (!trouble_) {
    trouble_ = MakeError(ErrorCode::kAborted,
                         fmt::format("{} became shorter while it was copied", entry.path),
                         "The copies of it are not whole; copy it again.");
  }
  std::memset(bytes, 0, size);
  return size;
}

InputFile* Archive::Open(const Entry& entry) {
  for (auto& [known, file] : open_) {
    if (known == &entry) return &file;
  }
  auto file = InputFile::Open(entry.path);
  if (!file) {
    if (!trouble_) trouble_ = file.error();
    return nullptr;
  }
  if (entry.number != FileNumber() && file->number() != entry.number) {
    if (!trouble_) {
      trouble_ = MakeError(ErrorCode::kAborted,
                           fmt::format("{} was replaced while it was copied", entry.path),
                           "The copies of it are not whole; copy it again.");
    }
    return nullptr;
  }
  if (open_.size() >= kMostOpen) open_.pop_front();
  return &open_.emplace_back(&entry, *std::move(file)).second;
}

std::optional<Error> Archive::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace podctl::tar
