// Local files and folders as one tar archive of any size, which is never made: its bytes are read
// from the files when they are asked for, at any place, so that thousands of readers share it.
// Links are followed; owners and times are left out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/file_system.h"
#include "providers/os/input_file.h"
#include "providers/os/withheld_files.h"

namespace podctl::tar {

inline constexpr int kMaxDepth = 64;  // folders within folders

// Whether a file or folder is left out, by its name in an archive.
using ExcludeFilter = std::function<bool(std::string_view name)>;
// Goes through a local file, or folder with all that is in it: `visit` is given each with its name
// in the archive, a folder before what is in it. Links are followed. Errors name the path:
// kNotFound and the like, kOutOfRange beyond kMaxDepth, kInvalidArgument for sockets,
// devices and the like. With `within`, what it takes alone, and its errors.
using Visit = std::function<Result<void>(const std::string& source, const std::string& name,
                                         const FileInfo& info)>;
Result<void> Walk(FileSystem& files, const std::string& source, const std::string& name,
                  const ExcludeFilter& exclude, const Visit& visit,
                  const CopySource* within = nullptr, int depth = 0);

class Archive {
 public:
  // What may be packed: files and folders.
  static constexpr std::size_t kMaxEntries = 1'000'000;

  // Each source, a file or a folder with all that is in it, under its own base name. Errors as
  // those of Walk; kOutOfRange also beyond kMaxEntries, kInvalidArgument also for two sources of
  // one name. `exclude` is asked for each file and folder by its name in the archive,
  // "src/data/x.bin"; of a folder that is left out nothing is packed. May be empty. `within`, which
  // is not kept, has looked at the very files whose bytes are read later.
  static Result<std::unique_ptr<Archive>> Of(FileSystem& files,
                                             const std::vector<std::string>& sources,
                                             const ExcludeFilter& exclude = {},
                                             const CopySource* within = nullptr);

  std::uint64_t size() const { return size_; }    // bytes of the archive
  std::uint64_t bytes() const { return bytes_; }  // of the files in it
  std::size_t files() const { return files_; }

  // At most `size` bytes from `offset` on; 0: the end. Thread safe. Where a file cannot be read any
  // more, or is shorter than it was, zeros stand for what is missing, and `trouble` says so.
  std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size);
  std::optional<Error> trouble() const;

 private:
  struct Entry {
    std::uint64_t begin = 0;  // in the archive
    std::string path;         // of a file; empty for a folder
    std::string name;
    std::uint64_t size = 0;
    unsigned mode = 0;
    std::uint64_t header = 0;  // bytes of its header
    FileNumber number = {};    // of a file
    std::uint64_t end() const;
  };
  Archive() = default;
  Result<void> Add(const std::string& source, const std::string& name, const FileInfo& info,
                   const CopySource* within);
  void Append(Entry entry);
  std::size_t ReadEntry(const Entry& entry, std::uint64_t offset, char* bytes, std::size_t size);
  std::size_t ReadData(const Entry& entry, std::uint64_t offset, char* bytes, std::size_t size);
  InputFile* Open(const Entry& entry);

  std::vector<Entry> entries_;
  std::uint64_t size_ = 0;
  std::uint64_t bytes_ = 0;
  std::size_t files_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::deque<std::pair<const Entry*, InputFile>> open_;
  std::optional<Error> trouble_;
};

// The last part of a path: "src" of "~/src/".
std::string BaseName(std::string path);

}  // namespace podctl::tar
