#include "providers/bootstrap/tar_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/tar/archive.h"
#include "providers/tar/header.h"

namespace podctl {
namespace {

using tar::BaseName;
using tar::kBlock;

}  // namespace

std::string TarName(std::string_view destination) {
  if (destination == "~") return ".";
  if (destination.rfind("~/", 0) == 0) destination.remove_prefix(2);
  return destination.empty() ? "." : std::string(destination);
}

Result<void> TarStream::Add(const std::string& name, std::string_view bytes, unsigned mode,
                            tar::Kind kind) {
  if (++entries_ > kMaxEntries) {
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("more than {} files and folders to copy", kMaxEntries));
  }
  if (bytes.size() + name.size() + 4 * kBlock > kMaxBytes - std::min(kMaxBytes, bytes_.size())) {
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("more than {} MiB to copy", kMaxBytes / 1024 / 1024),
                     "put large data into a bucket and fetch it on the workers");
  }
  bytes_ += tar::HeaderBlocks({name, bytes.size(), mode, kind});
  bytes_.append(bytes);
  bytes_.append(tar::Padding(bytes.size()), '\0');
  return {};
}

Result<void> TarStream::AddFolder(const std::string& name, unsigned mode) {
  return Add(name.back() == '/' ? name : name + "/", {}, mode, tar::Kind::kFolder);
}

Result<void> TarStream::AddFile(const std::string& name, std::string_view bytes, unsigned mode) {
  return Add(name, bytes, mode, tar::Kind::kFile);
}

Result<void> TarStream::AddLocal(FileSystem& files, const std::string& source,
                                 const std::string& destination) {
  const Result<FileInfo> info = files.Stat(source);
  if (!info) return info.error();
  std::string name = TarName(destination);
  const bool into = name == "." || name.back() == '/';
  if (info->kind == FileInfo::Kind::kFile && into) {
    name = name == "." ? BaseName(source) : name + BaseName(source);
  }
  const auto add = [&](const std::string& path, const std::string& as,
                       const FileInfo& found) -> Result<void> {
    if (found.kind == FileInfo::Kind::kFolder) return AddFolder(as, found.mode);
    const Result<std::string> bytes = files.Read(path, kMaxBytes);
    if (!bytes) return bytes.error();
    return AddFile(as, *bytes, found.mode);
  };
  return tar::Walk(files, source, name, {}, add);
}

std::string TarStream::Finish() {
  bytes_ += tar::EndBlocks();
  entries_ = 0;
  return std::exchange(bytes_, {});
}

}  // namespace podctl
