#include "providers/os/durable_file.h"

#include <fmt/format.h>

#include <vector>

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
