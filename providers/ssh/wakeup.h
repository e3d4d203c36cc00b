// A door bell for a thread that sits in poll or epoll: an eventfd that other threads ring.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace podctl::ssh {

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

}  // namespace podctl::ssh
