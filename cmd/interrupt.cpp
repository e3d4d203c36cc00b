#include "cmd/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "providers/base/error.h"

namespace podctl {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
int write_end = -1;  // a handler may touch nothing but this
int read_end = -1;

extern "C" void OnSignal(int) {
  const int saved = errno;
  const char byte = 's';
  static_cast<void>(!write(write_end, &byte, 1));
  errno = saved;
}

extern "C" void OnBrokenPipe(int) {}  // the write itself fails, and says so

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  std::array<int, 2> ends{};
  PODCTL_CHECK(pipe2(ends.data(), O_CLOEXEC) == 0);
  read_end = ends[0];
  write_end = ends[1];
  for (int signal : kSignals) Handle(signal, OnSignal);
  Handle(SIGPIPE, OnBrokenPipe);
  watcher_ = std::jthread([this] { Watch(); });
}

Interrupt::~Interrupt() {
  const char byte = 'q';
  static_cast<void>(!write(write_end, &byte, 1));
  watcher_.join();
  for (int signal : kSignals) Handle(signal, SIG_DFL);
  close(read_end);
  close(write_end);
}

void Interrupt::Watch() {
  int count = 0;
  char byte = 0;
  while (true) {
    const ssize_t got = read(read_end, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1 || byte == 'q') return;
    ++count;
    if (count == 1) drain_.request_stop();
    if (count == 2) leave_.request_stop();
    // Everything that must not be lost is on disk before it is acted on, so this is safe.
    if (count >= 3) _exit(kInterruptedExitCode);
  }
}

}  // namespace podctl
