// The part of RealFileSystem that holds folders: by a descriptor of their own, which every call
// names in place of a path.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "providers/base/text.h"
#include "providers/os/descriptor.h"
#include "providers/os/file_system.h"

namespace podctl {
namespace {

// O_PATH: a folder on the way needs not be readable.
constexpr int kHold = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Descriptor OpenAt(int folder, const std::string& name, int flags, unsigned mode = 0) {
  return Descriptor(Uninterrupted([&] {
    return ::openat(folder, name.c_str(), flags | O_CLOEXEC, static_cast<mode_t>(mode));
  }));
}

bool IsLinkAt(int folder, const std::string& name) {
  struct stat there {};
  return ::fstatat(folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(there.st_mode);
}

Error LinkAt(const std::string& path) {
  return MakeError(ErrorCode::kFailedPrecondition, fmt::format("{} is a symbolic link", path));
}

FileInfo InfoOf(const struct stat& there) {
  FileInfo info;
  if (S_ISREG(there.st_mode)) info.kind = FileInfo::Kind::kFile;
  if (S_ISDIR(there.st_mode)) info.kind = FileInfo::Kind::kFolder;
  if (S_ISLNK(there.st_mode)) info.kind = FileInfo::Kind::kLink;
  info.size = static_cast<std::uint64_t>(there.st_size);
  info.mode = there.st_mode & 07777;
  info.modified = std::chrono::system_clock::from_time_t(there.st_mtim.tv_sec);
  return info;
}

class OpenFolder final : public HeldFolder {
 public:
  OpenFolder(Descriptor folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}

  Result<FileInfo> Look(const std::string& name) override {
    struct stat there {};
    if (::fstatat(folder_.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0)
      return InfoOf(there);
    return SystemError("look at", At(name), errno);
  }

  Result<Text> Read(const std::string& name, std::uint64_t max_bytes) override {
    // O_NONBLOCK: opening a named pipe must not hang before it can be refused.
    const Descriptor file =
        OpenAt(folder_.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (!file.ok() && errno == ELOOP) return LinkAt(At(name));
    if (!file.ok()) return SystemError("read", At(name), errno);
    if (auto regular = CheckRegular(file.get(), At(name)); !regular) return regular.error();
    struct stat there {};
    if (::fstat(file.get(), &there) != 0) return SystemError("read", At(name), errno);
    auto bytes = ReadAll(file.get(), At(name), max_bytes);
    if (!bytes) return bytes.error();
    return Text{InfoOf(there), *std::move(bytes)};
  }

  Result<std::vector<std::string>> List() override {
    Descriptor own = OpenAt(folder_.get(), ".", O_RDONLY | O_DIRECTORY);
    if (!own.ok()) return SystemError("list", path_, errno);
    DIR* stream = ::fdopendir(::dup(own.get()));
    if (stream == nullptr) return SystemError("list", path_, errno);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    const int error = errno;
    ::closedir(stream);
    if (error != 0) return SystemError("list", path_, error);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> WriteNew(const std::string& name, std::string_view bytes, unsigned mode,
                        bool exact) override {
    // Nobody else reads it before it is complete.
    constexpr unsigned kPrivate = 0600;
    Descriptor file =
        OpenAt(folder_.get(), name, O_WRONLY | O_CREAT | O_EXCL, exact ? kPrivate : mode);
    if (!file.ok()) return errno == EEXIST ? Exists(name) : SystemError("create", At(name), errno);
    int error = WriteAll(file.get(), bytes);
    if (error == 0 && exact && ::fchmod(file.get(), static_cast<mode_t>(mode)) != 0) error = errno;
    if (error == 0) error = podctl::Sync(file.get());
    const int close_error = file.Close();
    if (error == 0) error = close_error;
    if (error == 0) return {};
    // It was made by this call and is not whole: nobody shall take it for one that is.
    ::unlinkat(folder_.get(), name.c_str(), 0);
    return SystemError("write", At(name), error);
  }

  Result<void> Append(const std::string& name, std::string_view bytes, bool anew) override {
    // What has the name already may have been put there by somebody else; a named pipe without a
    // reader holds nobody up (O_NONBLOCK).
    constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    constexpr unsigned kFileMode = 0666;  // less the umask
    Descriptor file = OpenAt(folder_.get(), name, kFlags, kFileMode);
    if (!file.ok()) return SystemError("write", At(name), errno);
    if (auto regular = CheckRegular(file.get(), At(name)); !regular) return regular;
    if (auto single = CheckSingleName(file.get(), At(name)); !single) return single;
    int error = 0;
    if (anew && Uninterrupted([&] { return ::ftruncate(file.get(), 0); }) != 0) error = errno;
    if (error == 0) error = WriteAll(file.get(), bytes);
    if (error == 0) error = file.Close();
    if (error == 0) return {};
    return SystemError("write", At(name), error);
  }

  Result<void> Rename(const std::string& from, const std::string& to) override {
    if (::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str()) == 0) return {};
    return SystemError("rename", fmt::format("{} to {}", At(from), At(to)), errno);
  }

  Result<void> RenameToNew(const std::string& from, const std::string& to) override {
    const int folder = folder_.get();
    if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return {};
    int error = errno;
    if (error == EEXIST) return Exists(to);
    if (error == EINVAL || error == ENOSYS) {
      if (::linkat(folder, from.c_str(), folder, to.c_str(), 0) == 0) return Remove(from);
      error = errno;
      if (error == EEXIST) return Exists(to);
      const bool no_links = error == EPERM || error == EOPNOTSUPP || error == ENOSYS;
      if (no_links && Look(to)) return Exists(to);
      if (no_links) return Rename(from, to);
    }
    return SystemError("rename", fmt::format("{} to {}", At(from), At(to)), error);
  }

  Result<void> Remove(const std::string& name) override {
    if (::unlinkat(folder_.get(), name.c_str(), 0) == 0) return {};
    return SystemError("remove", At(name), errno);
  }

  Result<void> RemoveFolder(const std::string& name) override {
    if (::unlinkat(folder_.get(), name.c_str(), AT_REMOVEDIR) == 0) return {};
    return SystemError("remove the folder", At(name), errno);
  }

  Result<void> Sync() override {
    const Descriptor own = OpenAt(folder_.get(), ".", O_RDONLY | O_DIRECTORY);
    if (!own.ok()) return SystemError("open the folder", path_, errno);
    const int error = podctl::Sync(own.get());
    // Some network file systems cannot sync a folder and say EINVAL (fsync(2)).
    if (error != 0 && error != EINVAL) return SystemError("sync the folder", path_, error);
    return {};
  }

 private:
  std::string At(const std::string& name) const {
    return path_ == "." ? name : fmt::format("{}{}{}", path_, path_ == "/" ? "" : "/", name);
  }
  Error Exists(const std::string& name) const {
    return MakeError(ErrorCode::kAlreadyExists,
                     fmt::format("cannot create {}: it exists already", At(name)));
  }

  const Descriptor folder_;
  const std::string path_;  // for words
};

}  // namespace

// Part by part, each from the descriptor of the one before: whoever exchanges one for a link while
// this goes on is either seen, or comes too late.
Result<std::unique_ptr<HeldFolder>> RealFileSystem::HoldFolder(const std::string& base,
                                                               const std::string& below,
                                                               bool make) {
  if (make) {
    if (auto made = MakeFolders(base); !made) return made.error();
  }
  auto at = std::make_unique<Descriptor>(Open(base, kHold & ~O_NOFOLLOW));
  if (!at->ok()) return SystemError("look at", base, errno);
  std::string path = base;
  for (const std::string_view part : Split(below, "/")) {
    if (part.empty() || part == ".") continue;
    path =
        path == "." ? std::string(part) : fmt::format("{}{}{}", path, path == "/" ? "" : "/", part);
    if (part == "..") {
      return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} leads upwards", path));
    }
    const std::string name(part);
    auto next = std::make_unique<Descriptor>(OpenAt(at->get(), name, kHold));
    if (!next->ok() && errno == ENOENT && make) {
      constexpr unsigned kFolderMode = 0777;  // less the umask
      if (::mkdirat(at->get(), name.c_str(), kFolderMode) != 0 && errno != EEXIST)
        return SystemError("make the folder", path, errno);
      next = std::make_unique<Descriptor>(OpenAt(at->get(), name, kHold));
    }
    if (!next->ok()) {
      const int error = errno;
      if (IsLinkAt(at->get(), name)) return LinkAt(path);
      return SystemError(make ? "make the folder" : "look at", path, error);
    }
    at = std::move(next);
  }
  return std::unique_ptr<HeldFolder>(std::make_unique<OpenFolder>(std::move(*at), std::move(path)));
}

}  // namespace podctl
