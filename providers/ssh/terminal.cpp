#include "providers/ssh/terminal.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace podctl::ssh {
namespace {

// What the signal handler may touch: the bell of the terminal that lives, or nothing.
std::atomic<const Wakeup*> g_resize_bell{nullptr};

void OnWindowChange(int) {
  const int saved = errno;
  if (const Wakeup* bell = g_resize_bell.load()) bell->Ring();  // write(2): safe in a handler
  errno = saved;
}

}  // namespace

LocalTerminal::LocalTerminal(int input, int output, int error)
    : input_(input), output_(output), error_(error) {
  PODCTL_CHECK(g_resize_bell.load() == nullptr);
  g_resize_bell.store(&resized_);
  struct sigaction action {};
  action.sa_handler = OnWindowChange;
  action.sa_flags = SA_RESTART;
  sigaction(SIGWINCH, &action, nullptr);
}

LocalTerminal::~LocalTerminal() {
  Restore();
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGWINCH, &action, nullptr);
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
  if (isatty(input_) != 1 || before_.has_value()) return {};
  termios mode{};
  if (tcgetattr(input_, &mode) != 0) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("the terminal's mode cannot be read: {}", std::strerror(errno)));
  }
  before_ = mode;
  cfmakeraw(&mode);
  // Now, not after what was typed is read: type-ahead belongs to the worker.
  if (tcsetattr(input_, TCSANOW, &mode) != 0) {
    before_.reset();
    return MakeError(ErrorCode::kIo,
                     fmt::format("the terminal's mode cannot be set: {}", std::strerror(errno)));
  }
  return {};
}

void LocalTerminal::Restore() {
  if (before_.has_value()) tcsetattr(input_, TCSANOW, &*before_);
  before_.reset();
}

}  // namespace podctl::ssh
