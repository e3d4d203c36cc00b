// Files that a run leaves to its user: made as their bytes come, a little at a time, so that
// thousands of them need no open descriptor each. What must survive a power cut goes through
// ReplaceDurably (file_system.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "providers/base/error.h"

namespace podctl {

// The errors of what follows: kIo when this machine is at its end (a full disk), anything else when
// only this name cannot be written: it is too long, or something else is in its way.

// Which file a name stands for, whatever it is called: names that differ in case alone are one on
// some disks. nullopt: there is none. A link stands for itself.
using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
std::optional<FileIdentity> IdentityOf(const std::string& path);

// Makes the folder unless it is there. kAlreadyExists when something else is, a link to a folder
// too.
Result<void> MakeOutputFolder(const std::string& path, unsigned mode);

// Whether what stands between `base` and the last part of `path`, which begins with it, are
// folders: nothing is written through a link. kAlreadyExists, kNotFound.
Result<void> CheckFoldersAbove(const std::string& path, std::size_t base_size);

// A file that gets its name when it is whole; until then it lies beside it, and goes when it is not
// kept. No descriptor stays open, so that thousands can be under way.
class PartialFile {
 public:
  // `mode` as for open(2), less the umask.
  static Result<PartialFile> Make(const std::string& path, unsigned mode);
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&& other) noexcept;
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  Result<void> Write(std::string_view bytes);
  Result<void> Keep();

 private:
  PartialFile(std::string path, std::string beside)
      : path_(std::move(path)), beside_(std::move(beside)) {}
  std::string path_;
  std::string beside_;  // empty: kept, or moved from
};

}  // namespace podctl
