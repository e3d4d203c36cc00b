#include "providers/bootstrap/tar_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/os/input_file.h"
#include "providers/tar/archive.h"
#include "providers/tar/header.h"

namespace podctl {
namespace {

using tar::BaseName;
using tar::kBlock;

Error TooLarge() {
  return MakeError(ErrorCode::kOutOfRange,
                   fmt::format("more than {} MiB to copy", TarStream::kMaxBytes / 1024 / 1024),
                   "put large data into a bucket and fetch it on the workers");
}

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
    return TooLarge();
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

// The file that is looked at is the one that is read, whatever its path comes to name meanwhile.
Result<void> TarStream::AddJudged(const std::string& path, const std::string& name, unsigned mode,
                                  const CopySource& within) {
  auto file = InputFile::Open(path);
  if (!file) return file.error();
  const auto takes = within.Judge(path, file->RealPath());
  if (!takes) return takes.error();
  if (!*takes) return {};
  if (file->size() > kMaxBytes) return TooLarge();
  std::string bytes(file->size(), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto got = file->ReadAt(done, bytes.data() + done, bytes.size() - done);
    if (!got) return got.error();
    if (*got == 0) break;
    done += *got;
  }
  bytes.resize(done);
  return AddFile(name, bytes, mode);
}

Result<void> TarStream::AddLocal(FileSystem& files, const std::string& source,
                                 const std::string& destination, const CopySource* within) {
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
    if (within != nullptr) return AddJudged(path, as, found.mode, *within);
    const Result<std::string> bytes = files.Read(path, kMaxBytes);
    if (!bytes) return bytes.error();
    return AddFile(as, *bytes, found.mode);
  };
  return tar::Walk(files, source, name, {}, add, within);
}

std::string TarStream::Finish() {
  bytes_ += tar::EndBlocks();
  entries_ = 0;
  return std::exchange(bytes_, {});
}

}  // namespace podctl
