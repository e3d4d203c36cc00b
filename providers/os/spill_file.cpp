#include "providers/os/spill_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

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

namespace {

int OpenIn(const std::string& folder) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  std::string name = folder + "/podctl-XXXXXX";  // a file system without nameless files
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

off_t PlaceOf(std::uint32_t block, std::size_t offset) {
  return static_cast<off_t>(block) * static_cast<off_t>(ScratchFile::kBlock) +
         static_cast<off_t>(offset);
}

}  // namespace

ScratchFile::~ScratchFile() {
  if (fd_ >= 0) close(fd_);
}

bool ScratchFile::Open() {
  if (fd_ >= 0 || refused_) return fd_ >= 0;
  const char* wanted = std::getenv("TMPDIR");
  if (wanted != nullptr && *wanted == '/') fd_ = OpenIn(wanted);
  if (fd_ < 0) fd_ = OpenIn("/var/tmp");
  if (fd_ < 0) fd_ = OpenIn("/tmp");
  refused_ = fd_ < 0;
  return fd_ >= 0;
}

std::optional<std::uint32_t> ScratchFile::Take() {
  const std::lock_guard lock(mutex_);
  if (!Open()) return std::nullopt;
  if (!free_.empty()) {
    const std::uint32_t block = free_.back();
    free_.pop_back();
    return block;
  }
  if (used_ == max_blocks_) return std::nullopt;
  return used_++;
}

void ScratchFile::GiveBack(std::uint32_t block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(block);
}

bool ScratchFile::Write(std::uint32_t block, std::size_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(fd_, bytes.data(), bytes.size(), PlaceOf(block, offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
    offset += static_cast<std::size_t>(done);
  }
  return true;
}

bool ScratchFile::Read(std::uint32_t block, std::size_t offset, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t done = pread(fd_, bytes, size, PlaceOf(block, offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes += done;
    offset += static_cast<std::size_t>(done);
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

}  // namespace podctl
