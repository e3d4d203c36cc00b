#include "providers/ssh/libssh2/terminal.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace podctl::ssh {
namespace {

// What the signal handlers may touch: the bell of the terminal that lives, or nothing; and its
// modes while it is raw, written before `g_raw` says so.
std::atomic<const Wakeup*> g_resize_bell{nullptr};
std::atomic<bool> g_raw{false};
struct {
  int input;
  termios before;
  termios raw;
} g_modes;

void OnWindowChange(int) {
  const int saved = errno;
  if (const Wakeup* bell = g_resize_bell.load()) bell->Ring();  // write(2): safe in a handler
  errno = saved;
}

// Ctrl-Z goes to the worker; this is a stop asked for from elsewhere. The shell gets its terminal
// as it was; then the signal's usual action stops this process, here.
void OnStop(int signal) {
  const int saved = errno;
  if (g_raw.load()) tcsetattr(g_modes.input, TCSANOW, &g_modes.before);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  struct sigaction mine {};
  sigaction(signal, &usual, &mine);
  sigset_t only;
  sigset_t masked;
  sigemptyset(&only);
  sigaddset(&only, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &only, &masked);
  pthread_sigmask(SIG_SETMASK, &masked, nullptr);
  sigaction(signal, &mine, nullptr);
  errno = saved;
}

// Also after a SIGSTOP, which no handler sees: the shell has set the modes it likes meanwhile.
void OnContinue(int signal) {
  const int saved = errno;
  if (g_raw.load()) tcsetattr(g_modes.input, TCSANOW, &g_modes.raw);
  errno = saved;
  OnWindowChange(signal);
}

void RestoreAtQuickExit() {
  if (g_raw.load()) tcsetattr(g_modes.input, TCSANOW, &g_modes.before);
}

struct sigaction Handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  struct sigaction before {};
  sigaction(signal, &action, &before);
  return before;
}

}  // namespace

LocalTerminal::LocalTerminal(int input, int output, int error)
    : input_(input), output_(output), error_(error) {
  PODCTL_CHECK(g_resize_bell.load() == nullptr);
  static const int registered = std::at_quick_exit(RestoreAtQuickExit);
  PODCTL_CHECK(registered == 0);
  g_resize_bell.store(&resized_);
  handlers_before_ = {{SIGWINCH, Handle(SIGWINCH, OnWindowChange)},
                      {SIGCONT, Handle(SIGCONT, OnContinue)},
                      {SIGTSTP, Handle(SIGTSTP, OnStop)}};
  // Who started this process so that it is not to be stopped is obeyed.
  const struct sigaction& stop = handlers_before_.back().second;
  if (stop.sa_handler == SIG_IGN) sigaction(SIGTSTP, &stop, nullptr);
}

LocalTerminal::~LocalTerminal() {
  Restore();
  for (const auto& [signal, before] : handlers_before_) sigaction(signal, &before, nullptr);
  g_resize_bell.store(nullptr);
}

bool LocalTerminal::IsTerminal() const {
  return isatty(input_) == 1 && isatty(output_) == 1;
}

WindowSize LocalTerminal::Size() const {
  WindowSize size;
  winsize window{};
  if ((ioctl(output_, TIOCGWINSZ, &window) == 0 || ioctl(input_, TIOCGWINSZ, &window) == 0) &&
      window.ws_col > 0 && window.ws_row > 0) {
    size.columns = window.ws_col;
    size.rows = window.ws_row;
  }
  return size;
}

Result<void> LocalTerminal::EnterRaw() {
  if (isatty(input_) != 1 || raw_) return {};
  termios mode{};
  if (tcgetattr(input_, &mode) != 0) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("the terminal's mode cannot be read: {}", std::strerror(errno)));
  }
  g_modes.input = input_;
  g_modes.before = mode;
  cfmakeraw(&mode);
  g_modes.raw = mode;
  raw_ = true;
  g_raw.store(true);
  // Now, not after what was typed is read: type-ahead belongs to the worker.
  if (tcsetattr(input_, TCSANOW, &mode) != 0) {
    const int error = errno;
    g_raw.store(false);
    raw_ = false;
    return MakeError(ErrorCode::kIo,
                     fmt::format("the terminal's mode cannot be set: {}", std::strerror(error)));
  }
  return {};
}

void LocalTerminal::Restore() {
  if (!raw_) return;
  raw_ = false;
  g_raw.store(false);
  tcsetattr(input_, TCSANOW, &g_modes.before);
}

}  // namespace podctl::ssh
