#include "providers/os/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "providers/os/descriptor.h"

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

}  // namespace podctl
