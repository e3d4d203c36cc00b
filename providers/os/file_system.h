// The door to files, for what must not be lost (the state) and for what a user names (specs, keys).
//
// Errors: kNotFound when the path is not there, kPermissionDenied, else kIo; the message holds the
// path and the system's words. The interface has just the steps that a durable save consists of, so
// that a fake can cut the power between any two of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

// An exclusive lock on a file, held by this process until destroyed; the kernel frees it when the
// process dies (flock(2)).
class FileLock {
 public:
  virtual ~FileLock() = default;
};

struct FileInfo {
  enum class Kind { kFile, kFolder, kLink, kOther };  // kLink: only of HeldFolder::Look
  Kind kind = Kind::kOther;
  std::uint64_t size = 0;                            // bytes
  unsigned mode = 0;                                 // permission bits
  std::chrono::system_clock::time_point modified{};  // of the content
};

// A folder that stays the one that was looked at, whatever its path comes to name meanwhile. Names
// are those of things in it, and no symbolic link at one is followed.
class HeldFolder {
 public:
  virtual ~HeldFolder() = default;

  virtual Result<FileInfo> Look(const std::string& name) = 0;
  struct Text {
    FileInfo info;
    std::string bytes;
  };
  // The very file that `info` tells of. kFailedPrecondition for a link; else as FileSystem::Read.
  virtual Result<Text> Read(const std::string& name, std::uint64_t max_bytes) = 0;
  virtual Result<std::vector<std::string>> List() = 0;  // as FileSystem::List
  // As in FileSystem; with `exact`, `mode` is as it is, whatever the umask.
  virtual Result<void> WriteNew(const std::string& name, std::string_view bytes, unsigned mode,
                                bool exact) = 0;
  // Writes at the end of a file, or with `anew` in place of what it holds; makes it where there is
  // none. What is no file of one name alone is refused. Not durable.
  virtual Result<void> Append(const std::string& name, std::string_view bytes, bool anew) = 0;
  virtual Result<void> Rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> RenameToNew(const std::string& from, const std::string& to) = 0;
  virtual Result<void> Remove(const std::string& name) = 0;
  virtual Result<void> RemoveFolder(const std::string& name) = 0;  // an empty one
  virtual Result<void> Sync() = 0;                                 // makes renames in it durable
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Follows symbolic links. kInvalidArgument when longer than `max_bytes` or not a regular file.
  virtual Result<std::string> Read(const std::string& path, std::uint64_t max_bytes) = 0;
  virtual Result<FileInfo> Stat(const std::string& path) = 0;
  // Names (not paths) in a folder, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> List(const std::string& folder) = 0;

  // Where `path` ends when it is a symbolic link (followed to the end, which need not exist);
  // `path` itself otherwise. For a caller who replaces the file by a rename and must keep the link.
  // kIo after 40 links.
  virtual Result<std::string> FollowLinks(const std::string& path) = 0;

  // Creates `path` (kAlreadyExists if it is there), writes all bytes, fsyncs, closes; checks each.
  virtual Result<void> WriteNew(const std::string& path, std::string_view bytes, unsigned mode) = 0;
  // chmod(2): `mode` as it is, whatever the umask.
  virtual Result<void> SetMode(const std::string& path, unsigned mode) = 0;
  // Gives the file `path` the owner and group of `of`, as far as that is allowed: root keeps whose
  // a file was that it replaces. No error where it is not.
  virtual void TakeOwner(const std::string& path, const std::string& of) = 0;
  // rename(2): replaces `to` in one step.
  virtual Result<void> Rename(const std::string& from, const std::string& to) = 0;
  // Renames unless `to` is there (kAlreadyExists), in one step for every other process. On a file
  // system that knows neither renameat2(2) with RENAME_NOREPLACE nor hard links the look and the
  // rename are two steps.
  virtual Result<void> RenameToNew(const std::string& from, const std::string& to) = 0;
  // A second name for the file (link(2)), durable with the folder of `to`. kAlreadyExists when `to`
  // is there; kUnimplemented where there are no hard links.
  virtual Result<void> Link(const std::string& from, const std::string& to) = 0;
  virtual Result<void> SyncFolder(const std::string& folder) = 0;  // makes renames in it durable
  virtual Result<void> Remove(const std::string& path) = 0;        // kNotFound if not there
  virtual Result<void> MakeFolders(const std::string& path) = 0;   // like mkdir -p
  // One folder; kAlreadyExists when there is something of that name.
  virtual Result<void> MakeFolder(const std::string& path, unsigned mode) = 0;

  // `base` as it is, through links; from it on, through none, what `below` names ("": `base`
  // itself; no part is ".."). kFailedPrecondition for a link; with `make`, what is missing is made,
  // else kNotFound.
  virtual Result<std::unique_ptr<HeldFolder>> HoldFolder(const std::string& base,
                                                         const std::string& below, bool make) = 0;

  // Opens or creates `path` (0600) and locks it without waiting; kLocked when another holds it. An
  // error for a link, symbolic or hard, and for what is no file. `content` is what the file held
  // before, which the holder before wrote; the new one's is put there by ReplaceLockText.
  struct Locked {
    std::unique_ptr<FileLock> lock;
    std::string content;
  };
  virtual Result<Locked> TryLock(const std::string& path) = 0;
  // Reads a file that is there, as Read does, and locks that very file without waiting (kLocked
  // when another holds it): as long as the lock lives, `path` is renamed over by nobody who holds
  // before he renames. Its destruction frees it; the file stays. For a file of its own, not for one
  // that Unlock would remove.
  virtual Result<Locked> Hold(const std::string& path, std::uint64_t max_bytes) = 0;
  virtual Result<void> ReplaceLockText(FileLock& lock, std::string_view text) = 0;
  // Removes the lock's file while it is still held, then frees it.
  virtual Result<void> Unlock(std::unique_ptr<FileLock> lock) = 0;
};

class RealFileSystem final : public FileSystem {
 public:
  Result<std::string> Read(const std::string& path, std::uint64_t max_bytes) override;
  Result<FileInfo> Stat(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& folder) override;
  Result<std::string> FollowLinks(const std::string& path) override;
  Result<void> WriteNew(const std::string& path, std::string_view bytes, unsigned mode) override;
  Result<void> SetMode(const std::string& path, unsigned mode) override;
  void TakeOwner(const std::string& path, const std::string& of) override;
  Result<void> Rename(const std::string& from, const std::string& to) override;
  Result<void> RenameToNew(const std::string& from, const std::string& to) override;
  Result<void> Link(const std::string& from, const std::string& to) override;
  Result<void> SyncFolder(const std::string& folder) override;
  Result<void> Remove(const std::string& path) override;
  Result<void> MakeFolders(const std::string& path) override;
  Result<void> MakeFolder(const std::string& path, unsigned mode) override;
  Result<std::unique_ptr<HeldFolder>> HoldFolder(const std::string& base, const std::string& below,
                                                 bool make) override;
  Result<Locked> TryLock(const std::string& path) override;
  Result<Locked> Hold(const std::string& path, std::uint64_t max_bytes) override;
  Result<void> ReplaceLockText(FileLock& lock, std::string_view text) override;
  Result<void> Unlock(std::unique_ptr<FileLock> lock) override;
};

// The folder part of a path, "." when it has none.
std::string FolderOf(std::string_view path);
// "~/x" -> $HOME/x; anything else unchanged.
std::string ExpandHome(std::string_view path);

// ---- Files and folders of podctl's own, short of the state, which has a store of its own: whole
// at any moment, also after a power cut, for a later run to go on from.

// `path` holds all of `bytes`, or what it held before: they are written beside it, synced, renamed
// over it, and the folder is synced. A symbolic link at `path` is replaced. After an error it holds
// what it held before, unless only the folder could not be synced.
Result<void> ReplaceDurably(FileSystem& files, const std::string& path, std::string_view bytes,
                            unsigned mode);
Result<void> ReplaceDurably(HeldFolder& folder, const std::string& name, std::string_view bytes,
                            unsigned mode);

// Makes what is missing of `path` for this user alone (0700), whatever the umask is; it is there
// after a power cut, too.
Result<void> MakePrivateFolders(FileSystem& files, const std::string& path);

}  // namespace podctl
