#include "providers/os/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>

namespace podctl {
namespace {

constexpr std::uint64_t kReadStep = std::uint64_t{64} * 1024;

ErrorCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPermissionDenied;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

Error SystemError(std::string_view verb, std::string_view path, int error) {
  return MakeError(CodeOf(error), fmt::format("cannot {} {}: {}", verb, path,
                                              std::generic_category().message(error)));
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

// On Linux the descriptor is gone even after EINTR (close(2)), so a repeat could close somebody
// else's.
int Descriptor::Close() {
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) == 0 || errno == EINTR) return 0;
  return errno;
}

Descriptor Open(const std::string& path, int flags, unsigned mode) {
  return Descriptor(Uninterrupted(
      [&] { return ::open(path.c_str(), flags | O_CLOEXEC, static_cast<mode_t>(mode)); }));
}

Result<PipeEnds> MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) == 0)
    return PipeEnds{Descriptor(ends[0]), Descriptor(ends[1])};
  return MakeError(ErrorCode::kIo,
                   fmt::format("no pipe: {}", std::generic_category().message(errno)));
}

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = Uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (written < 0) return errno;
    if (written == 0) return EIO;  // no file does that; to go on would never end
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int Sync(int fd) {
  return Uninterrupted([&] { return ::fsync(fd); }) == 0 ? 0 : errno;
}

Result<std::string> ReadAll(int fd, const std::string& path, std::uint64_t max_bytes) {
  // A file may grow while it is read, so its size at the start is a guess.
  struct stat info {};
  std::uint64_t step = kReadStep;
  if (::fstat(fd, &info) == 0 && info.st_size > 0) {
    step = std::min(static_cast<std::uint64_t>(info.st_size), max_bytes) + 1;
  }
  std::string text;
  constexpr std::size_t kSpare = 64;  // in which a parser may read on
  text.reserve(step + kSpare);
  std::size_t size = 0;
  for (;; step = kReadStep) {
    text.resize(size + step);
    // Until the step is full or the end is there.
    while (size < text.size()) {
      const ssize_t count =
          Uninterrupted([&] { return ::read(fd, text.data() + size, text.size() - size); });
      if (count < 0) return SystemError("read", path, errno);
      if (count == 0) {
        text.resize(size);
        return text;
      }
      size += static_cast<std::size_t>(count);
      if (size > max_bytes) {
        return MakeError(ErrorCode::kInvalidArgument,
                         fmt::format("{} is larger than {} bytes", path, max_bytes));
      }
    }
  }
}

Result<void> CheckRegular(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return SystemError("read", path, errno);
  if (S_ISREG(info.st_mode)) return {};
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{} is {}, not a file", path,
                               S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket"));
}

Result<void> CheckSingleName(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return SystemError("look at", path, errno);
  if (info.st_nlink <= 1) return {};
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("{} is a hard link: what is written to it would be written to a file "
                  "of another name, too",
                  path),
      "Remove that name; the file stays under its other one.");
}

}  // namespace podctl
