// A server of this program in a process of its own, so that it can be killed by -9.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>

namespace podctl::testing {

class ForkedServer {
 public:
  // `serve` starts it, writes one byte to `ready` when it listens, and returns when it cannot; else
  // never. To be used by a process with one thread.
  explicit ForkedServer(std::function<void(int ready)> serve) : serve_(std::move(serve)) {}
  ~ForkedServer() { Kill(); }
  ForkedServer(const ForkedServer&) = delete;
  ForkedServer& operator=(const ForkedServer&) = delete;

  // False: it does not come up.
  bool Start() {
    int ends[2];
    if (::pipe(ends) != 0) return false;
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(2);
      ::close(ends[0]);
      serve_(ends[1]);
      ::_exit(1);
    }
    ::close(ends[1]);
    char byte = 0;
    const bool up = ::read(ends[0], &byte, 1) == 1;
    ::close(ends[0]);
    return up;
  }
  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  const std::function<void(int)> serve_;
  pid_t pid_ = -1;
};

}  // namespace podctl::testing
