#include "providers/os/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace podctl {
namespace {

// The holder's text is a few lines; anything longer was not written by podctl.
constexpr std::uint64_t kMaxLockTextBytes = std::uint64_t{64} * 1024;
// A lock file may be unlinked by its last holder between our open and our flock; then we start
// again. Each round means that somebody else just finished, so this many suffice.
constexpr int kMaxLockRounds = 100;

ErrorCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPermissionDenied;
    default:
      return ErrorCode::kIo;
  }
}

// "cannot read podctl.yaml: No such file or directory".
Error SystemError(std::string_view verb, std::string_view path, int error) {
  return MakeError(CodeOf(error), fmt::format("cannot {} {}: {}", verb, path,
                                              std::generic_category().message(error)));
}

// Owns a descriptor. Close() tells whether the close succeeded; the destructor cannot.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // Returns 0 or errno. On Linux the descriptor is gone even after EINTR (close(2)), so a repeat
  // could close somebody else's.
  int Close() {
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) == 0 || errno == EINTR) return 0;
    return errno;
  }

 private:
  int fd_;
};

Descriptor Open(const std::string& path, int flags, unsigned mode = 0) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, static_cast<mode_t>(mode));
  } while (fd < 0 && errno == EINTR);
  return Descriptor(fd);
}

// Both return 0 or errno.
int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int Sync(int fd) {
  while (::fsync(fd) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

Result<std::string> ReadAll(int fd, const std::string& path, std::uint64_t max_bytes) {
  std::string text;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof(buffer));
    if (count < 0) {
      if (errno == EINTR) continue;
      return SystemError("read", path, errno);
    }
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    // A file may grow while it is read, so its size at the start is not to be trusted.
    if (text.size() > max_bytes) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{} is larger than {} bytes", path, max_bytes));
    }
  }
}

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
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

int Flock(int fd) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

Result<std::string> RealFileSystem::Read(const std::string& path, std::uint64_t max_bytes) {
  // O_NONBLOCK: opening a named pipe must not hang before it can be refused.
  Descriptor file = Open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.ok()) return SystemError("read", path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return SystemError("read", path, errno);
  if (!S_ISREG(info.st_mode)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is {}, not a file", path,
                                 S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket"));
  }
  return ReadAll(file.get(), path, max_bytes);
}

Result<FileInfo> RealFileSystem::Stat(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return SystemError("look at", path, errno);
  FileInfo result;
  if (S_ISREG(info.st_mode)) result.kind = FileInfo::Kind::kFile;
  if (S_ISDIR(info.st_mode)) result.kind = FileInfo::Kind::kFolder;
  result.size = static_cast<std::uint64_t>(info.st_size);
  result.mode = info.st_mode & 07777;
  return result;
}

Result<std::vector<std::string>> RealFileSystem::List(const std::string& folder) {
  DIR* stream = ::opendir(folder.c_str());
  if (stream == nullptr) return SystemError("list", folder, errno);
  std::vector<std::string> names;
  int error = 0;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream);
    if (entry == nullptr) {
      error = errno;  // 0 at the end of the folder
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(stream);
  if (error != 0) return SystemError("list", folder, error);
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> RealFileSystem::WriteNew(const std::string& path, std::string_view bytes,
                                      unsigned mode) {
  Descriptor file = Open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
  if (!file.ok()) {
    if (errno == EEXIST) {
      return MakeError(ErrorCode::kAlreadyExists,
                       fmt::format("cannot create {}: it exists already", path));
    }
    return SystemError("create", path, errno);
  }
  int error = WriteAll(file.get(), bytes);
  if (error == 0) error = Sync(file.get());
  const int close_error = file.Close();
  if (error == 0) error = close_error;
  if (error == 0) return {};
  // The file was made by this call and is not whole: nobody shall take it for one that is.
  ::unlink(path.c_str());
  return SystemError("write", path, error);
}

Result<void> RealFileSystem::Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return SystemError("rename", fmt::format("{} to {}", from, to), errno);
}

Result<void> RealFileSystem::SyncFolder(const std::string& folder) {
  Descriptor descriptor = Open(folder, O_RDONLY | O_DIRECTORY);
  if (!descriptor.ok()) return SystemError("open the folder", folder, errno);
  int error = Sync(descriptor.get());
  // Some network file systems cannot sync a folder and say EINVAL (fsync(2)); there is nothing
  // more that could be done there.
  if (error == EINVAL) error = 0;
  if (error == 0) error = descriptor.Close();
  if (error != 0) return SystemError("sync the folder", folder, error);
  return {};
}

Result<void> RealFileSystem::Remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return {};
  return SystemError("remove", path, errno);
}

Result<void> RealFileSystem::MakeFolders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!part.empty() && ::mkdir(part.c_str(), 0777) != 0) {
      const int error = errno;
      struct stat info {};
      // An existing folder is fine, also where mkdir says EROFS or EACCES before it looks.
      if (::stat(part.c_str(), &info) != 0) return SystemError("make the folder", part, error);
      if (!S_ISDIR(info.st_mode)) {
        return MakeError(ErrorCode::kIo,
                         fmt::format("cannot make the folder {}: a file is in its place", part));
      }
    }
    if (end == std::string::npos) return {};
  }
}

Result<FileSystem::Locked> RealFileSystem::TryLock(const std::string& path) {
  for (int round = 0; round < kMaxLockRounds; ++round) {
    Descriptor file = Open(path, O_RDWR | O_CREAT | O_NOCTTY, 0600);
    if (!file.ok()) return SystemError("open the lock", path, errno);
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

Result<void> RealFileSystem::ReplaceLockText(FileLock& lock, std::string_view text) {
  auto& held = static_cast<FlockedFile&>(lock);
  const int fd = held.descriptor().get();
  if (::ftruncate(fd, 0) != 0 || ::lseek(fd, 0, SEEK_SET) != 0) {
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

std::string FolderOf(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  if (slash == 0) return "/";
  return std::string(path.substr(0, slash));
}

std::string ExpandHome(std::string_view path) {
  if (path.empty() || path[0] != '~' || (path.size() > 1 && path[1] != '/')) {
    return std::string(path);
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return std::string(path);
  return std::string(home) + std::string(path.substr(1));
}

}  // namespace podctl
