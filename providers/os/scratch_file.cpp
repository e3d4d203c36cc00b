#include "providers/os/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace podctl {
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
