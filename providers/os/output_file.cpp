#include "providers/os/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "providers/os/descriptor.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

// What ends every write of this machine, not only that of one name.
bool IsMachines(int error) {
  constexpr std::array kErrors = {ENOSPC, EDQUOT, EIO, EFBIG, EROFS, EMFILE, ENFILE, ENOMEM};
  return std::find(kErrors.begin(), kErrors.end(), error) != kErrors.end();
}

Error NameError(std::string_view verb, const std::string& path, int error) {
  Error made = SystemError(verb, path, error);
  if (IsMachines(error)) {
    made.code = ErrorCode::kIo;
  } else if (made.code == ErrorCode::kIo) {
    made.code = ErrorCode::kFailedPrecondition;
  }
  return made;
}

// What has the name already may have been put there by somebody else: only a file of its own is
// written to, and a named pipe without a reader holds nobody up (O_NONBLOCK).
Result<void> WriteAtEnd(const std::string& path, std::string_view bytes) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  Descriptor file = Open(path, kFlags);
  if (!file.ok()) return SystemError("write", path, errno);
  if (auto regular = CheckRegular(file.get(), path); !regular) return regular;
  if (auto single = CheckSingleName(file.get(), path); !single) return single;
  if (const int error = WriteAll(file.get(), bytes); error != 0) {
    return SystemError("write", path, error);
  }
  if (const int error = file.Close(); error != 0) return SystemError("write", path, error);
  return {};
}

// A link to a folder is none: it may lead anywhere.
Result<void> CheckFolder(const std::string& path) {
  struct stat there {};
  if (lstat(path.c_str(), &there) != 0) return NameError("write below", path, errno);
  if (S_ISDIR(there.st_mode)) return {};
  return MakeError(ErrorCode::kAlreadyExists,
                   fmt::format("{} is there already, and is {}", path,
                               S_ISLNK(there.st_mode) ? "a link" : "no folder"));
}

}  // namespace

std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat there {};
  if (lstat(path.c_str(), &there) != 0) return std::nullopt;
  return FileIdentity{there.st_dev, there.st_ino};
}

Result<void> MakeOutputFolder(const std::string& path, unsigned mode) {
  if (mkdir(path.c_str(), mode) == 0) return {};
  const int error = errno;
  return error == EEXIST ? CheckFolder(path) : NameError("make the folder", path, error);
}

Result<void> CheckFoldersAbove(const std::string& path, std::size_t base_size) {
  for (auto slash = path.find('/', base_size + 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (auto folder = CheckFolder(path.substr(0, slash)); !folder) return folder;
  }
  return {};
}

// The whole name and the addition may be longer than a name can be.
Result<PartialFile> PartialFile::Make(const std::string& path, unsigned mode) {
  constexpr std::size_t kMostKept = 200;  // bytes of the name
  static std::atomic<unsigned> number{0};
  const std::size_t name = path.rfind('/') + 1;
  PartialFile file(
      path, fmt::format("{}.{}-{}.part", path.substr(0, name + kMostKept), ProcessId(), ++number));
  const Descriptor made = Open(file.beside_, O_WRONLY | O_CREAT | O_EXCL, mode);
  if (made.ok()) return file;
  const int error = errno;
  file.beside_.clear();  // whose it is, is not known
  return NameError("write", path, error);
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)), beside_(std::exchange(other.beside_, {})) {}

PartialFile& PartialFile::operator=(PartialFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(beside_, other.beside_);
  return *this;
}

PartialFile::~PartialFile() {
  if (!beside_.empty()) unlink(beside_.c_str());
}

Result<void> PartialFile::Write(std::string_view bytes) {
  return WriteAtEnd(beside_, bytes);
}

Result<void> PartialFile::Keep() {
  if (rename(beside_.c_str(), path_.c_str()) != 0) return NameError("write", path_, errno);
  beside_.clear();
  return {};
}

}  // namespace podctl
