#include "providers/os/spill_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace podctl {
namespace {

// Not ok() on failure, with errno set.
Descriptor OpenNameless(const std::string& folder) {
  Descriptor file = Open(folder, O_TMPFILE | O_RDWR, 0600);
  if (file.ok()) return file;
  // Not every file system knows O_TMPFILE.
  std::string path = folder + "/podctl-XXXXXX";
  Descriptor named(mkostemp(path.data(), O_CLOEXEC));
  return named.ok() && unlink(path.c_str()) != 0 ? Descriptor(-1) : std::move(named);
}

// Both return 0 or errno.
int WriteAt(int fd, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = Uninterrupted(
        [&] { return pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (count <= 0) return count < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return 0;
}

int ReadAt(int fd, char* bytes, std::size_t size, std::uint64_t offset) {
  while (size > 0) {
    const ssize_t count =
        Uninterrupted([&] { return pread(fd, bytes, size, static_cast<off_t>(offset)); });
    if (count <= 0) return count < 0 ? errno : EIO;  // it was cut by somebody
    bytes += count;
    offset += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return 0;
}

std::uint64_t PlaceOf(std::uint32_t block, std::size_t offset) {
  return std::uint64_t{block} * ScratchFile::kBlock + offset;
}

}  // namespace

Result<SpillFile> SpillFile::Make(const std::string& folder) {
  Descriptor file = OpenNameless(folder);
  if (!file.ok()) return SystemError("write to", folder, errno);
  return SpillFile(std::move(file), folder);
}

Result<std::uint64_t> SpillFile::Append(std::string_view bytes) {
  const int error = WriteAt(file_.get(), bytes, size_);
  if (error != 0) return SystemError("write to", folder_, error);
  return std::exchange(size_, size_ + bytes.size());
}

Result<void> SpillFile::Read(std::uint64_t offset, char* bytes, std::size_t size) const {
  const int error = ReadAt(file_.get(), bytes, size, offset);
  if (error != 0) return SystemError("read from", folder_, error);
  return {};
}

bool ScratchFile::Open() {
  if (!file_) {
    const char* wanted = std::getenv("TMPDIR");
    file_.emplace(OpenNameless(wanted != nullptr && *wanted == '/' ? wanted : "/var/tmp"));
    for (const char* folder : {"/var/tmp", "/tmp"}) {
      if (!file_->ok()) file_.emplace(OpenNameless(folder));
    }
  }
  return file_->ok();
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
  return WriteAt(file_->get(), bytes, PlaceOf(block, offset)) == 0;
}

bool ScratchFile::Read(std::uint32_t block, std::size_t offset, char* bytes, std::size_t size) {
  return ReadAt(file_->get(), bytes, size, PlaceOf(block, offset)) == 0;
}

}  // namespace podctl
