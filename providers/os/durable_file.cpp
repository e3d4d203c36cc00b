#include "providers/os/durable_file.h"

#include <fmt/format.h>

#include "providers/os/this_process.h"

namespace podctl {

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

}  // namespace podctl
