#include "state/stores/aside_file.h"

#include <fmt/format.h>

#include "providers/base/text.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

constexpr unsigned kAsideMode = 0600;  // the state may hold what only its owner should read
constexpr int kMostAsideFiles = 10;    // whose names are found taken before it is given up

}  // namespace

Result<void> WriteNewWhole(FileSystem& files, const std::string& path, const std::string& bytes,
                           unsigned mode) {
  const std::string part = fmt::format("{}.{}.part", path, ProcessId());
  (void)files.Remove(part);  // of a killed run with our number
  Result<void> done = files.WriteNew(part, bytes, mode);
  if (done) done = files.RenameToNew(part, path);
  if (!done) (void)files.Remove(part);
  return done;
}

Result<std::string> WriteAside(FileSystem& files, const std::vector<std::string>& folders,
                               const std::string& name, const std::string& text) {
  std::vector<std::string> problems;
  for (const std::string& folder : folders) {
    (void)MakePrivateFolders(files, folder);
    for (int number = 1; number <= kMostAsideFiles; ++number) {
      const std::string path =
          fmt::format("{}/podctl.{}{}", folder, name, number > 1 ? fmt::format("-{}", number) : "");
      Result<void> written = WriteNewWhole(files, path, text, kAsideMode);
      if (written) {
        (void)files.SyncFolder(folder);
        return path;
      }
      if (written.error().code == ErrorCode::kAlreadyExists) continue;
      problems.push_back(written.error().message);
      break;
    }
  }
  return MakeError(ErrorCode::kIo, Join(problems, "; "));
}

}  // namespace podctl
