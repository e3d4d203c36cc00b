#include "cmd/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

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

}  // namespace podctl
