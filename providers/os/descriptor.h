// Open files as the kernel numbers them, for the rest of this room: every call is repeated after an
// interruption, and every result is looked at. Knows nothing of what the bytes mean.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "providers/base/error.h"

namespace podctl {

// Repeats a system call that a signal interrupted (EINTR), up to a limit: what interrupts a call
// that often is no signal, and must not hang the run.
template <typename Call>
auto Uninterrupted(const Call& call) {
  constexpr int kMostRounds = 1000;
  auto result = call();
  for (int round = 0; result < 0 && errno == EINTR && round < kMostRounds; ++round) {
    result = call();
  }
  return result;
}

// Owns a descriptor. Close() tells whether the close succeeded; the destructor cannot.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // Returns 0 or errno.
  int Close();

 private:
  int fd_;
};

// A door bell for a thread that sits in poll or epoll: an eventfd that other threads ring.
class Wakeup {
 public:
  Wakeup() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Wakeup() {
    if (fd_ >= 0) close(fd_);
  }
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  int fd() const { return fd_; }  // readable once rung; -1 when the system has none left

  void Ring() const {  // thread safe
    const std::uint64_t one = 1;
    // A full counter means that it rings already.
    [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof(one));
  }
  void Silence() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(fd_, &count, sizeof(count));
  }

 private:
  int fd_;
};

// open(2); not ok() on failure, with errno set.
Descriptor Open(const std::string& path, int flags, unsigned mode = 0);
struct PipeEnds {
  Descriptor read;
  Descriptor write;
};
Result<PipeEnds> MakePipe();  // pipe2(2); kIo

// Both return 0 or errno.
int WriteAll(int fd, std::string_view bytes);
int Sync(int fd);
// From where the descriptor stands to the end. kInvalidArgument when longer than `max_bytes`.
Result<std::string> ReadAll(int fd, const std::string& path, std::uint64_t max_bytes);
// kInvalidArgument for what is not a regular file (a folder, a pipe ...).
Result<void> CheckRegular(int fd, const std::string& path);
// kFailedPrecondition for a file that has another name as well (a hard link): what is written to it
// would be written there, too.
Result<void> CheckSingleName(int fd, const std::string& path);

// "cannot read podctl.yaml: No such file or directory".
Error SystemError(std::string_view verb, std::string_view path, int error);

}  // namespace podctl
