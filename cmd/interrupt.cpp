#include "cmd/interrupt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace podctl {
namespace {

using std::chrono::milliseconds;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
// From the first signal to the second, and from that to the end. Both together, with room for a
// busy machine, are over before a CI runner's KILL; and a drain, which gives answers to requests
// 3 s, ends by itself in the first.
constexpr milliseconds kDrainPatience{6'000};
constexpr milliseconds kLeavePatience{1'500};

// Two signals that come together are one: timeout(1) sends its own to the command and then to the
// whole group, and who presses Ctrl-C twice takes longer.
constexpr milliseconds kSameSignal{250};

// All that handlers may touch.
int write_end = -1;
int read_end = -1;
std::atomic<int> resumed{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void OnSignal(int) {
  const int saved = errno;
  const char byte = 's';
  static_cast<void>(!write(write_end, &byte, 1));
  errno = saved;
}

// podctl is about to end, and has nothing left to put in order: with the code of every interrupt,
// and at once, should what is still to be written hang.
extern "C" void OnLateSignal(int) {
  _exit(kInterruptedExitCode);
}

extern "C" void OnContinue(int) {
  ++resumed;
}

// The write itself fails, and says so: EPIPE, EFBIG.
extern "C" void OnFailedWrite(int) {}

bool IsIgnored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

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
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    fmt::print(stderr, "Error: podctl cannot start: it has no pipe for signals: {}\n",
               std::strerror(errno));
    std::quick_exit(1);
  }
  read_end = ends[0];
  write_end = ends[1];
  fcntl(write_end, F_SETFL, O_NONBLOCK);  // a handler that waited for a reader could be that reader
  for (int signal : kSignals) {
    if (!IsIgnored(signal)) Handle(signal, OnSignal);
  }
  Handle(SIGPIPE, OnFailedWrite);
  Handle(SIGXFSZ, OnFailedWrite);
  Handle(SIGCONT, OnContinue);
  watcher_ = std::jthread([this] { Watch(); });
}

Interrupt::~Interrupt() {
  // What comes now comes too late, and its handler would write where soon nobody reads.
  std::vector<int> handled;
  for (int signal : kSignals) {
    if (IsIgnored(signal)) continue;
    handled.push_back(signal);
    Handle(signal, SIG_IGN);
  }
  const char byte = 'q';
  while (write(write_end, &byte, 1) < 0 && errno == EAGAIN) std::this_thread::yield();
  watcher_.join();
  for (int signal : handled) Handle(signal, OnLateSignal);
  close(read_end);
  close(write_end);
}

int Interrupt::Resumed() {
  return resumed.load();
}

milliseconds Interrupt::Patience(int count) const {
  if (count == 0 || patient_) return milliseconds(-1);
  return count == 1 ? kDrainPatience : kLeavePatience;
}

void Interrupt::Watch() {
  // In a storm of signals this thread must come to count them.
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : kSignals) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  using SteadyClock = std::chrono::steady_clock;
  int count = 0;
  char byte = 0;
  SteadyClock::time_point counted{};
  while (true) {
    pollfd input{read_end, POLLIN, 0};
    const int ready = poll(&input, 1, static_cast<int>(Patience(count).count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready > 0) {
      const ssize_t got = read(read_end, &byte, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got != 1 || byte == 'q') return;
      const auto now = SteadyClock::now();
      if (count > 0 && now - counted < kSameSignal) continue;
      counted = now;
    }
    ++count;
    if (count == 1) drain_.request_stop();
    if (count == 2) leave_.request_stop();
    // Not exit(): threads still run. What puts the terminal's mode back is registered for this.
    if (count >= 3) std::quick_exit(kInterruptedExitCode);
  }
}

}  // namespace podctl
