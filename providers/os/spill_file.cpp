#include "providers/os/spill_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace podctl {

Result<SpillFile> SpillFile::Make(const std::string& folder) {
  Descriptor file = Open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file.ok()) return SpillFile(std::move(file), folder);
  // Not every file system knows O_TMPFILE.
  std::string path = folder + "/podctl-XXXXXX";
  Descriptor named(mkostemp(path.data(), O_CLOEXEC));
  if (!named.ok()) return SystemError("write to", folder, errno);
  if (unlink(path.c_str()) != 0) return SystemError("remove", path, errno);
  return SpillFile(std::move(named), folder);
}

Result<std::uint64_t> SpillFile::Append(std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = Uninterrupted([&] {
      return pwrite(file_.get(), bytes.data() + written, bytes.size() - written,
                    static_cast<off_t>(size_ + written));
    });
    if (count < 0) return SystemError("write to", folder_, errno);
    written += static_cast<std::size_t>(count);
  }
  size_ += written;
  return size_ - written;
}

Result<void> SpillFile::Read(std::uint64_t offset, char* bytes, std::size_t size) const {
  while (size > 0) {
    const ssize_t count =
        Uninterrupted([&] { return pread(file_.get(), bytes, size, static_cast<off_t>(offset)); });
    if (count < 0) return SystemError("read from", folder_, errno);
    if (count == 0) return SystemError("read from", folder_, EIO);  // cut by somebody
    bytes += count;
    offset += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace podctl
