// Local files and folders packed for `tar -x` on a worker: the ustar format (POSIX.1-1988) with GNU
// tar's long names. Knows nothing of SSH. Owners and times are left out: they mean nothing there.
#pragma once

#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/os/file_system.h"
#include "providers/os/withheld_files.h"
#include "providers/tar/header.h"

namespace podctl {

class TarStream {
 public:
  // What may be packed: bytes in all, files and folders.
  static constexpr std::size_t kMaxBytes = std::size_t{512} * 1024 * 1024;
  static constexpr int kMaxEntries = 100'000;

  // `name`: where it goes, absolute or relative to the folder that tar is started in.
  Result<void> AddFolder(const std::string& name, unsigned mode);
  Result<void> AddFile(const std::string& name, std::string_view bytes, unsigned mode);

  // A local file or folder with all that is in it. Links are followed. A file goes to
  // `destination`, or into it when that ends in "/"; a folder becomes `destination` itself.
  // kNotFound and the like when it cannot be read, kOutOfRange when a limit is passed,
  // kInvalidArgument for sockets, devices and the like. Of what `within` does not take, nothing;
  // and its errors.
  Result<void> AddLocal(FileSystem& files, const std::string& source,
                        const std::string& destination, const CopySource* within = nullptr);

  // The whole archive; the stream is empty afterwards.
  std::string Finish();

 private:
  Result<void> Add(const std::string& name, std::string_view bytes, unsigned mode, tar::Kind kind);
  Result<void> AddJudged(const std::string& path, const std::string& name, unsigned mode,
                         const CopySource& within);

  std::string bytes_;
  int entries_ = 0;
};

// "~/x" and "x" -> "x" (relative to the home folder), "/opt/x" -> "/opt/x", "~" -> ".".
std::string TarName(std::string_view destination);

}  // namespace podctl
