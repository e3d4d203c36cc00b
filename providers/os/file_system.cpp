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
#include <filesystem>
#include <system_error>
#include <utility>

#include "providers/os/descriptor.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

Error Exists(std::string_view verb, const std::string& path) {
  return MakeError(ErrorCode::kAlreadyExists,
                   fmt::format("cannot {} {}: it exists already", verb, path));
}

Error RenameError(const std::string& from, const std::string& to, int error) {
  return SystemError("rename", fmt::format("{} to {}", from, to), error);
}

}  // namespace

Result<std::string> RealFileSystem::Read(const std::string& path, std::uint64_t max_bytes) {
  // O_NONBLOCK: opening a named pipe must not hang before it can be refused.
  Descriptor file = Open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.ok()) return SystemError("read", path, errno);
  if (Result<void> regular = CheckRegular(file.get(), path); !regular) return regular.error();
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
  result.modified = std::chrono::system_clock::from_time_t(info.st_mtim.tv_sec);
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
    return errno == EEXIST ? Exists("create", path) : SystemError("create", path, errno);
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

Result<void> RealFileSystem::SetMode(const std::string& path, unsigned mode) {
  if (::chmod(path.c_str(), mode) == 0) return {};
  return SystemError("set the mode of", path, errno);
}

void RealFileSystem::TakeOwner(const std::string& path, const std::string& of) {
  const Descriptor file = Open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat wanted {};
  struct stat there {};
  if (!file.ok() || ::stat(of.c_str(), &wanted) != 0 || ::fstat(file.get(), &there) != 0) return;
  if (there.st_uid == wanted.st_uid && there.st_gid == wanted.st_gid) return;
  // The group alone may be allowed.
  if (::fchown(file.get(), wanted.st_uid, wanted.st_gid) == 0) return;
  if (::fchown(file.get(), static_cast<uid_t>(-1), wanted.st_gid) == 0) return;
}

Result<void> RealFileSystem::Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return RenameError(from, to, errno);
}

Result<void> RealFileSystem::RenameToNew(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  const int error = errno;
  if (error == EEXIST) return Exists("create", to);
  if (error != EINVAL && error != ENOSYS) return RenameError(from, to, error);
  Result<void> linked = Link(from, to);
  if (linked) return Remove(from);
  if (linked.error().code != ErrorCode::kUnimplemented) return linked;
  struct stat info {};
  if (::lstat(to.c_str(), &info) == 0) return Exists("create", to);
  return Rename(from, to);
}

Result<void> RealFileSystem::Link(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return {};
  const int error = errno;
  switch (error) {
    case EEXIST:
      return Exists("link", to);
    case EPERM:  // also: not the owner's file, where the kernel protects hard links (proc(5))
    case EMLINK:
    case ENOSYS:
    case EOPNOTSUPP:
    case EXDEV:
      return MakeError(ErrorCode::kUnimplemented,
                       fmt::format("cannot link {} to {}: {}", from, to,
                                   std::generic_category().message(error)));
    default:
      return SystemError("link", fmt::format("{} to {}", from, to), error);
  }
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

Result<void> RealFileSystem::MakeFolder(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), static_cast<mode_t>(mode)) == 0) return {};
  const int error = errno;
  return error == EEXIST ? Exists("make the folder", path)
                         : SystemError("make the folder", path, error);
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

// ---- The part of RealFileSystem that locks files: flock(2), which the kernel frees when a process
// dies.

namespace {

// The holder's text is a few lines; anything longer was not written by podctl.
constexpr std::uint64_t kMaxLockTextBytes = std::uint64_t{64} * 1024;
// A lock file may be unlinked by its last holder between our open and our flock; then we start
// again. Each round means that somebody else just finished, so this many suffice.
constexpr int kMaxLockRounds = 100;

struct FlockedFile final : FileLock {
  FlockedFile(Descriptor locked, std::string named)
      : descriptor(std::move(locked)), path(std::move(named)) {}
  Descriptor descriptor;
  std::string path;
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
Result<Descriptor> OpenToHold(const std::string& path) {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  Descriptor file = Open(path, O_RDWR | kFlags);
  const bool reading_may_do =
      errno == EACCES || errno == EROFS || errno == EPERM || errno == EISDIR;
  Descriptor held = file.ok() || !reading_may_do ? std::move(file) : Open(path, O_RDONLY | kFlags);
  if (!held.ok()) return SystemError("read", path, errno);
  if (Result<void> regular = CheckRegular(held.get(), path); !regular) return regular.error();
  return held;
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

// `taken` and `restless` say of the path why it cannot be had.
Result<FileSystem::Locked> LockNamed(const std::string& path, std::uint64_t max_bytes,
                                     Result<Descriptor> (*open)(const std::string& path),
                                     std::string_view taken, std::string_view restless) {
  for (int round = 0; round < kMaxLockRounds; ++round) {
    Result<Descriptor> opened = open(path);
    if (!opened) return opened.error();
    Descriptor file = *std::move(opened);
    const int error = Flock(file.get());
    if (error == EWOULDBLOCK) {
      return MakeError(ErrorCode::kLocked, fmt::format("{} is {}", path, taken));
    }
    if (error != 0) return SystemError("lock", path, error);
    // The holder before us may have unlinked the file after we opened it, or renamed another over
    // it; a lock on a nameless file would keep nobody out.
    if (!StillNamed(file.get(), path)) continue;
    Result<std::string> content = ReadAll(file.get(), path, max_bytes);
    if (!content) return content.error();
    return FileSystem::Locked{std::make_unique<FlockedFile>(std::move(file), path),
                              *std::move(content)};
  }
  return MakeError(ErrorCode::kLocked, fmt::format("{} is {}", path, restless));
}

}  // namespace

Result<FileSystem::Locked> RealFileSystem::TryLock(const std::string& path) {
  return LockNamed(path, kMaxLockTextBytes, OpenLock, "locked by another process",
                   "taken and freed by others all the time");
}

Result<FileSystem::Locked> RealFileSystem::Hold(const std::string& path, std::uint64_t max_bytes) {
  return LockNamed(path, max_bytes, OpenToHold, "held by another process",
                   "replaced by others all the time");
}

Result<void> RealFileSystem::ReplaceLockText(FileLock& lock, std::string_view text) {
  auto& held = static_cast<FlockedFile&>(lock);
  const int fd = held.descriptor.get();
  if (Uninterrupted([&] { return ::ftruncate(fd, 0); }) != 0 || ::lseek(fd, 0, SEEK_SET) != 0) {
    return SystemError("write", held.path, errno);
  }
  int error = WriteAll(fd, text);
  if (error == 0) error = Sync(fd);
  if (error != 0) return SystemError("write", held.path, error);
  return {};
}

Result<void> RealFileSystem::Unlock(std::unique_ptr<FileLock> lock) {
  auto& held = static_cast<FlockedFile&>(*lock);
  // Unlinked while still held: who opened the file before sees in TryLock that it has no name.
  // A file that is not ours any more (removed by hand, and locked anew by another) stays.
  if (StillNamed(held.descriptor.get(), held.path) && ::unlink(held.path.c_str()) != 0 &&
      errno != ENOENT) {
    return SystemError("remove the lock", held.path, errno);
  }
  if (const int error = held.descriptor.Close(); error != 0) {
    return SystemError("close the lock", held.path, error);
  }
  return {};
}

namespace {

constexpr int kMaxLinks = 40;  // as the kernel's own walk (path_resolution(7))

}  // namespace

Result<std::string> RealFileSystem::FollowLinks(const std::string& path) {
  std::filesystem::path at = path;
  for (int links = 0; links < kMaxLinks; ++links) {
    std::error_code failed;
    if (!std::filesystem::is_symlink(at, failed)) return at.string();
    const std::filesystem::path target = std::filesystem::read_symlink(at, failed);
    if (failed) {
      return MakeError(
          failed == std::errc::permission_denied ? ErrorCode::kPermissionDenied : ErrorCode::kIo,
          fmt::format("cannot read the link {}: {}", at.string(), failed.message()));
    }
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return MakeError(ErrorCode::kIo, fmt::format("{} goes through too many symbolic links", path));
}

Result<void> ReplaceDurably(FileSystem& files, const std::string& path, std::string_view bytes,
                            unsigned mode) {
  const std::string beside = fmt::format("{}.{}.tmp", path, ProcessId());
  static_cast<void>(files.Remove(beside).has_value());  // of a dead run with our number
  auto done = files.WriteNew(beside, bytes, mode);
  if (done) done = files.Rename(beside, path);
  if (!done) {
    static_cast<void>(files.Remove(beside).has_value());
    return done;
  }
  return files.SyncFolder(FolderOf(path));
}

Result<void> ReplaceDurably(HeldFolder& folder, const std::string& name, std::string_view bytes,
                            unsigned mode) {
  const std::string beside = fmt::format("{}.{}.tmp", name, ProcessId());
  static_cast<void>(folder.Remove(beside).has_value());  // of a dead run with our number
  auto done = folder.WriteNew(beside, bytes, mode, false);
  if (done) done = folder.Rename(beside, name);
  if (done) return folder.Sync();
  static_cast<void>(folder.Remove(beside).has_value());
  return done;
}

Result<void> MakePrivateFolders(FileSystem& files, const std::string& path) {
  constexpr unsigned kMode = 0700;
  std::vector<std::string> missing;
  for (std::string at = path; at != "/" && at != "."; at = FolderOf(at)) {
    const auto there = files.Stat(at);
    if (there || there.error().code != ErrorCode::kNotFound) break;
    missing.push_back(at);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    Result<void> made = files.MakeFolder(*folder, kMode);
    if (made) made = files.SyncFolder(FolderOf(*folder));
    if (!made && made.error().code != ErrorCode::kAlreadyExists) return made;
  }
  return {};
}

}  // namespace podctl
