// The part of RealFileSystem that locks files: flock(2), which the kernel frees when a process
// dies.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "providers/os/descriptor.h"
#include "providers/os/file_system.h"

namespace podctl {
namespace {

// The holder's text is a few lines; anything longer was not written by podctl.
constexpr std::uint64_t kMaxLockTextBytes = std::uint64_t{64} * 1024;
// A lock file may be unlinked by its last holder between our open and our flock; then we start
// again. Each round means that somebody else just finished, so this many suffice.
constexpr int kMaxLockRounds = 100;

class FlockedFile final : public FileLock {
 public:
  FlockedFile(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}
  Descriptor& descriptor() { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  Descriptor descriptor_;
  std::string path_;
};

// Whether `path` still names the file that `fd` has open.
bool StillNamed(int fd, const std::string& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

int Flock(int fd) {
  return Uninterrupted([&] { return ::flock(fd, LOCK_EX | LOCK_NB); }) == 0 ? 0 : errno;
}

// For writing, since NFS locks no file that is open for reading only (flock(2)); for reading where
// that is all that is allowed. O_NONBLOCK: a named pipe must be refused, not waited for.
Descriptor OpenToHold(const std::string& path) {
  Descriptor file = Open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  const bool reading_may_do =
      errno == EACCES || errno == EROFS || errno == EPERM || errno == EISDIR;
  if (file.ok() || !reading_may_do) return file;
  return Open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

// A lock file is written to and removed, and lies where others may have put something of its name:
// a repository that was checked out, a folder of a team. So it must be a file of its own, which no
// other name leads to.
Result<Descriptor> OpenLock(const std::string& path) {
  Descriptor file = Open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (!file.ok() && errno == ELOOP) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("{} is a symbolic link, and podctl locks and writes to none", path),
        "Look at what it leads to; a lock of podctl is never a link, so it can be "
        "removed.");
  }
  if (!file.ok()) return SystemError("open the lock", path, errno);
  if (Result<void> regular = CheckRegular(file.get(), path); !regular) return regular.error();
  if (Result<void> single = CheckSingleName(file.get(), path); !single) return single.error();
  return file;
}

}  // namespace

Result<FileSystem::Locked> RealFileSystem::TryLock(const std::string& path) {
  for (int round = 0; round < kMaxLockRounds; ++round) {
    Result<Descriptor> opened = OpenLock(path);
    if (!opened) return opened.error();
    Descriptor file = *std::move(opened);
    if (const int error = Flock(file.get()); error != 0) {
      if (error == EWOULDBLOCK) {
        return MakeError(ErrorCode::kLocked, fmt::format("{} is locked by another process", path));
      }
      return SystemError("lock", path, error);
    }
    // The holder before us may have unlinked the file after we opened it; a lock on a nameless file
    // would keep nobody out.
    if (!StillNamed(file.get(), path)) continue;
    Result<std::string> content = ReadAll(file.get(), path, kMaxLockTextBytes);
    if (!content) return content.error();
    Locked locked;
    locked.content = *std::move(content);
    locked.lock = std::make_unique<FlockedFile>(std::move(file), path);
    return locked;
  }
  return MakeError(ErrorCode::kLocked,
                   fmt::format("{} is taken and freed by others all the time", path));
}

Result<FileSystem::Locked> RealFileSystem::Hold(const std::string& path, std::uint64_t max_bytes) {
  for (int round = 0; round < kMaxLockRounds; ++round) {
    Descriptor file = OpenToHold(path);
    if (!file.ok()) return SystemError("read", path, errno);
    if (Result<void> regular = CheckRegular(file.get(), path); !regular) return regular.error();
    if (const int error = Flock(file.get()); error != 0) {
      if (error == EWOULDBLOCK) {
        return MakeError(ErrorCode::kLocked, fmt::format("{} is held by another process", path));
      }
      return SystemError("lock", path, error);
    }
    if (!StillNamed(file.get(), path)) continue;  // renamed over before it was ours
    Result<std::string> content = ReadAll(file.get(), path, max_bytes);
    if (!content) return content.error();
    Locked held;
    held.content = *std::move(content);
    held.lock = std::make_unique<FlockedFile>(std::move(file), path);
    return held;
  }
  return MakeError(ErrorCode::kLocked, fmt::format("{} is replaced by others all the time", path));
}

Result<void> RealFileSystem::ReplaceLockText(FileLock& lock, std::string_view text) {
  auto& held = static_cast<FlockedFile&>(lock);
  const int fd = held.descriptor().get();
  if (Uninterrupted([&] { return ::ftruncate(fd, 0); }) != 0 || ::lseek(fd, 0, SEEK_SET) != 0) {
    return SystemError("write", held.path(), errno);
  }
  int error = WriteAll(fd, text);
  if (error == 0) error = Sync(fd);
  if (error != 0) return SystemError("write", held.path(), error);
  return {};
}

Result<void> RealFileSystem::Unlock(std::unique_ptr<FileLock> lock) {
  auto& held = static_cast<FlockedFile&>(*lock);
  // Unlinked while still held: who opened the file before sees in TryLock that it has no name.
  // A file that is not ours any more (removed by hand, and locked anew by another) stays.
  if (StillNamed(held.descriptor().get(), held.path()) && ::unlink(held.path().c_str()) != 0 &&
      errno != ENOENT) {
    return SystemError("remove the lock", held.path(), errno);
  }
  if (const int error = held.descriptor().Close(); error != 0) {
    return SystemError("close the lock", held.path(), error);
  }
  return {};
}

}  // namespace podctl
