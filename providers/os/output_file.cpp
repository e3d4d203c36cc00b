#include "providers/os/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "providers/os/descriptor.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

enum class Start { kAnew, kAtEnd };

// What has the name already may have been put there by somebody else: only a file of its own is
// written to, and a named pipe without a reader holds nobody up (O_NONBLOCK).
Result<void> Write(const std::string& path, std::string_view bytes, Start start, unsigned mode) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  Descriptor file = Open(path, kFlags, mode);
  if (!file.ok()) return SystemError("write", path, errno);
  if (auto regular = CheckRegular(file.get(), path); !regular) return regular;
  if (auto single = CheckSingleName(file.get(), path); !single) return single;
  if (start == Start::kAnew && Uninterrupted([&] { return ftruncate(file.get(), 0); }) != 0) {
    return SystemError("write", path, errno);
  }
  if (const int error = WriteAll(file.get(), bytes); error != 0) {
    return SystemError("write", path, error);
  }
  if (const int error = file.Close(); error != 0) return SystemError("write", path, error);
  return {};
}

}  // namespace

Result<void> WriteToFile(const std::string& path, std::string_view bytes, bool anew) {
  return Write(path, bytes, anew ? Start::kAnew : Start::kAtEnd, 0666);
}

Result<void> MakeOutputFolder(const std::string& path, unsigned mode) {
  if (mkdir(path.c_str(), mode) == 0) return {};
  const int error = errno;
  struct stat there {};
  if (error == EEXIST && stat(path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) return {};
    return MakeError(ErrorCode::kAlreadyExists,
                     fmt::format("{} is there already, and is no folder", path));
  }
  return SystemError("make the folder", path, error);
}

Result<PartialFile> PartialFile::Make(const std::string& path, unsigned mode) {
  PartialFile file(path, fmt::format("{}.{}.part", path, ProcessId()));
  if (auto made = podctl::Write(file.beside_, {}, Start::kAnew, mode); !made) return made.error();
  return file;
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
  return podctl::Write(beside_, bytes, Start::kAtEnd, 0600);
}

Result<void> PartialFile::Keep() {
  if (rename(beside_.c_str(), path_.c_str()) != 0) return SystemError("write", path_, errno);
  beside_.clear();
  return {};
}

}  // namespace podctl
