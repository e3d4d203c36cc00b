#include "cmd/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace podctl {

Streams StandardStreams(bool no_color) {
  Streams streams{std::cout, std::cerr};
  streams.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  streams.err_is_terminal = isatty(STDERR_FILENO) != 0;
  const char* quiet = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  streams.color = !no_color && !dumb && (quiet == nullptr || *quiet == '\0');
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) streams.width = size.ws_col;
  return streams;
}

void OccupyStandardDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The wrong way round, so that its use fails as that of a closed one does. The lowest free
    // number is given, which is this one.
    const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    static_cast<void>(open("/dev/null", mode));
  }
}

bool ReaderOfOutputIsGone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

}  // namespace podctl
