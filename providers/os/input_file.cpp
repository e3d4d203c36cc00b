#include "providers/os/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "providers/os/withheld_files.h"

namespace podctl {

Result<InputFile> InputFile::Open(const std::string& path) {
  // A pipe without a writer must not hold us up.
  Descriptor file = podctl::Open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (!file.ok()) return SystemError("read", path, errno);
  if (auto regular = CheckRegular(file.get(), path); !regular) return regular.error();
  struct stat there {};
  if (fstat(file.get(), &there) != 0) return SystemError("read", path, errno);
  InputFile opened(path, std::move(file));
  opened.size_ = static_cast<std::uint64_t>(there.st_size);
  opened.number_ = {there.st_dev, there.st_ino};
  return opened;
}

std::string InputFile::RealPath() const {
  std::error_code problem;
  const std::string link = "/proc/self/fd/" + std::to_string(file_.get());
  const auto target = std::filesystem::read_symlink(link, problem);
  return problem ? podctl::RealPath(path_) : target.string();
}

Result<std::size_t> InputFile::ReadAt(std::uint64_t offset, char* bytes, std::size_t size) {
  const ssize_t got =
      Uninterrupted([&] { return pread(file_.get(), bytes, size, static_cast<off_t>(offset)); });
  if (got < 0) return SystemError("read", path_, errno);
  return static_cast<std::size_t>(got);
}

}  // namespace podctl
