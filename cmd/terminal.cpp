#include "cmd/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "providers/base/text.h"
#include "providers/os/descriptor.h"

namespace podctl {

namespace {

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool WantsColor(bool no_color) {
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  return !no_color && !dumb && !IsSet("NO_COLOR");
}

// CI=true, which GitHub, GitLab and others set, also where they give a terminal: what is drawn
// again in place fills their logs.
bool WantsPlainLines() {
  const char* ci = std::getenv("CI");
  if (ci == nullptr) return false;
  const std::string_view said(ci);
  return !said.empty() && said != "false" && said != "0";
}

// By the first of these variables that is set, as POSIX has it; C where none is.
bool LocaleIsUtf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!IsSet(variable)) continue;
    std::string name(std::getenv(variable));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
  }
  return false;
}

OutputFilter::Rules RulesOf(int descriptor, bool no_color) {
  return {WantsColor(no_color) && isatty(descriptor) != 0,
          IsSet("GITHUB_ACTIONS") || IsSet("GITLAB_CI") || IsSet("TF_BUILD")};
}

}  // namespace

StandardStreams::StandardStreams(bool no_color)
    : out_bytes_(*std::cout.rdbuf(), RulesOf(STDOUT_FILENO, no_color)),
      err_bytes_(*std::cerr.rdbuf(), RulesOf(STDERR_FILENO, no_color)),
      out_(&out_bytes_),
      err_(&err_bytes_),
      streams_{out_, err_} {
  err_ << std::unitbuf;
  err_.tie(&out_);
  streams_.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  streams_.err_is_terminal = isatty(STDERR_FILENO) != 0;
  streams_.color = WantsColor(no_color);
  streams_.plain = WantsPlainLines();
  streams_.ascii = !LocaleIsUtf8();
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) streams_.width = size.ws_col;
}

void RemarkOfAnyThread(std::string_view line) {
  static_cast<void>(WriteAll(STDERR_FILENO, VisibleControls(line) + "\n"));
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
  // Nobody reads from a file or another device, whatever poll says of it.
  struct stat out_is {};
  const bool has_reader =
      fstat(STDOUT_FILENO, &out_is) == 0 && (S_ISFIFO(out_is.st_mode) || S_ISSOCK(out_is.st_mode));
  if (!has_reader && isatty(STDOUT_FILENO) == 0) return false;
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

}  // namespace podctl
