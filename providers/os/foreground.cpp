#include "providers/os/foreground.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>

#include "providers/os/descriptor.h"

extern char** environ;

namespace podctl {
namespace {

// In stat, behind the name in brackets.
bool IsStopped(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string stat(std::istreambuf_iterator<char>(file), {});
  const std::size_t end = stat.rfind(')');
  return end != std::string::npos && stat.compare(end, 3, ") T") == 0;
}

// Until it has ended; it is not reaped, so its number stays its own.
void AwaitEnd(pid_t pid) {
  const auto number = static_cast<id_t>(pid);
  siginfo_t info{};
  while (true) {
    info.si_pid = 0;
    if (waitid(P_PID, number, &info, WEXITED | WSTOPPED | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (info.si_code != CLD_STOPPED) return;
    waitid(P_PID, number, &info, WSTOPPED | WNOHANG);
    // Ctrl-Z stops both at once; here it may have been continued since.
    if (IsStopped(pid)) raise(SIGSTOP);
  }
}

}  // namespace

Result<ForegroundEnd> RunInForeground(const std::vector<std::string>& arguments,
                                      const std::stop_token& stop) {
  PODCTL_CHECK(!arguments.empty());
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  sigset_t none;
  sigset_t pipe;
  sigemptyset(&none);
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);  // which podctl ignores; what else is ignored the user wanted so
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipe);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], nullptr, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error == ENOENT) {
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("there is no program {} in PATH", arguments[0]));
  }
  if (error != 0) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("cannot start {}: {}", arguments[0], std::strerror(error)));
  }
  {
    const std::stop_callback end(stop, [pid] { kill(pid, SIGTERM); });
    AwaitEnd(pid);
  }
  int status = 0;
  Uninterrupted([&] { return waitpid(pid, &status, 0); });
  if (WIFSIGNALED(status)) return ForegroundEnd{0, WTERMSIG(status)};
  return ForegroundEnd{WEXITSTATUS(status), 0};
}

}  // namespace podctl
