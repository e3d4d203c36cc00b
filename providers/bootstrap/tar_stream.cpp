#include "providers/bootstrap/tar_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace podctl {
namespace {

constexpr std::size_t kBlock = 512;
constexpr char kFile = '0';
constexpr char kFolder = '5';
constexpr char kLongName = 'L';  // GNU tar: the data is the name of the next entry

std::string BaseName(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string TarName(std::string_view destination) {
  if (destination == "~") return ".";
  if (destination.rfind("~/", 0) == 0) destination.remove_prefix(2);
  return destination.empty() ? "." : std::string(destination);
}

void TarStream::AppendHeader(const std::string& name, std::size_t size, unsigned mode, char kind) {
  // Offsets of the fields of a ustar header; numbers are octal text.
  std::array<char, kBlock> block{};
  const auto put = [&block](std::size_t at, std::string_view text) {
    std::memcpy(block.data() + at, text.data(), text.size());
  };
  put(0, std::string_view(name).substr(0, 100));
  put(100, fmt::format("{:07o}", mode & 07777U));
  put(108, "0000000");  // user
  put(116, "0000000");  // group
  put(124, fmt::format("{:011o}", size));
  put(136, "00000000000");  // time
  put(148, "        ");     // the checksum counts as blanks while it is summed up
  block[156] = kind;
  put(257, std::string_view("ustar\00000", 8));
  const unsigned sum = std::accumulate(block.begin(), block.end(), 0U, [](unsigned total, char c) {
    return total + static_cast<unsigned char>(c);
  });
  put(148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  bytes_.append(block.data(), block.size());
}

Result<void> TarStream::Add(const std::string& name, std::string_view bytes, unsigned mode,
                            char kind) {
  if (++entries_ > kMaxEntries) {
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("more than {} files and folders to copy", kMaxEntries));
  }
  if (bytes.size() + name.size() + 4 * kBlock > kMaxBytes - std::min(kMaxBytes, bytes_.size())) {
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("more than {} MiB to copy", kMaxBytes / 1024 / 1024),
                     "put large data into a bucket and fetch it on the workers");
  }
  const auto pad = [this] { bytes_.append((kBlock - bytes_.size() % kBlock) % kBlock, '\0'); };
  if (name.size() > 100) {
    AppendHeader("././@LongLink", name.size() + 1, 0, kLongName);
    bytes_.append(name).push_back('\0');
    pad();
  }
  AppendHeader(name, bytes.size(), mode, kind);
  bytes_.append(bytes);
  pad();
  return {};
}

Result<void> TarStream::AddFolder(const std::string& name, unsigned mode) {
  return Add(name.back() == '/' ? name : name + "/", {}, mode, kFolder);
}

Result<void> TarStream::AddFile(const std::string& name, std::string_view bytes, unsigned mode) {
  return Add(name, bytes, mode, kFile);
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
  return AddTree(files, source, name, 0);
}

Result<void> TarStream::AddTree(FileSystem& files, const std::string& source,
                                const std::string& name, int depth) {
  if (depth > kMaxDepth) {
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("`{}` lies more than {} folders deep", source, kMaxDepth));
  }
  const Result<FileInfo> info = files.Stat(source);
  if (!info) return info.error();
  if (info->kind == FileInfo::Kind::kFile) {
    const Result<std::string> bytes = files.Read(source, kMaxBytes);
    if (!bytes) return bytes.error();
    return AddFile(name, *bytes, info->mode);
  }
  if (info->kind != FileInfo::Kind::kFolder) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("`{}` is neither a file nor a folder", source));
  }
  if (Result<void> done = AddFolder(name, info->mode); !done) return done;
  const Result<std::vector<std::string>> entries = files.List(source);
  if (!entries) return entries.error();
  const std::string parent = name.back() == '/' ? name : name + "/";
  for (const std::string& entry : *entries) {
    const std::string from = fmt::format("{}/{}", source, entry);
    const std::string to = fmt::format("{}{}", parent, entry);
    if (Result<void> done = AddTree(files, from, to, depth + 1); !done) return done;
  }
  return {};
}

std::string TarStream::Finish() {
  bytes_.append(2 * kBlock, '\0');
  entries_ = 0;
  return std::exchange(bytes_, {});
}

}  // namespace podctl
