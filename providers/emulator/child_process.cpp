#include "providers/emulator/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace podctl::emulator {
namespace {

constexpr long kNamespaces = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC;

// fork(2), into new namespaces. The raw call, since fork() takes no flags and unshare(2) would move
// this process. Until it calls exec the child may use async-signal-safe functions only.
pid_t Fork(bool namespaces, bool own_network) {
  const long flags =
      SIGCHLD | (namespaces ? kNamespaces : 0) | (own_network ? long{CLONE_NEWNET} : 0);
  return static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr));
}

void CloseFrom(unsigned first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0U) == 0) return;
#endif
  for (unsigned file = first; file < 4096; ++file) ::close(static_cast<int>(file));
}

// The kernel gives a loopback that comes up 127.0.0.1/8 and ::1 by itself; every address of 127/8
// is then local. For a child before exec: async-signal-safe.
bool RaiseLoopback() {
  const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) return false;
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  bool up = ::ioctl(any, SIOCGIFFLAGS, &request) == 0;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  up = up && ::ioctl(any, SIOCSIFFLAGS, &request) == 0;
  ::close(any);
  return up;
}

struct Birth {
  int input = -1;
  int log = -1;
  int passed = -1;  // -1 for none
  bool dies_with_starter = false;
  bool own_network = false;
};

[[noreturn]] void RunChild(char* const* argv, char* const* environment, const Birth& birth) {
  if (birth.dies_with_starter) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setsid();  // a Ctrl-C at the emulator's terminal is not the worker's business
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) {
    ::signal(number, SIG_DFL);
  }
  ::umask(022);
  if (birth.own_network && !RaiseLoopback()) ::_exit(125);
  // The passed one first, out of the way: nothing says that the others are not 3.
  const int passed = birth.passed >= 0 ? ::fcntl(birth.passed, F_DUPFD, 10) : -1;
  ::dup2(birth.input, 0);
  ::dup2(birth.log, 1);
  ::dup2(birth.log, 2);
  if (passed >= 0) ::dup2(passed, 3);
  CloseFrom(passed >= 0 ? 4 : 3);
  if (::chdir("/") != 0) ::_exit(126);
  ::execve(argv[0], argv, environment);
  ::_exit(127);
}

}  // namespace

bool NamespacesWork(bool own_network) {
  const pid_t child = Fork(true, own_network);
  if (child < 0) return false;
  if (child == 0) {
    const bool works = ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount("tmpfs", "/mnt", "tmpfs", 0, nullptr) == 0 &&
                       (!own_network || RaiseLoopback());
    ::_exit(works ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result<pid_t> StartChild(const ChildOptions& options) {
  std::vector<char*> argv;
  for (const std::string& word : options.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  // A clean environment: the workers are other machines.
  std::string path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  std::string language = "LANG=C.UTF-8";
  char* environment[] = {path.data(), language.data(), nullptr};

  const int log =
      ::open(options.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) {
    return MakeError(ErrorCode::kIo, fmt::format("cannot open {}: {}", options.log,
                                                 std::generic_category().message(errno)));
  }
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const Birth birth{.input = options.stdin_file >= 0 ? options.stdin_file : nothing,
                    .log = log,
                    .passed = options.passed_file,
                    .dies_with_starter = options.namespaces,
                    .own_network = options.own_network};
  const pid_t child = Fork(options.namespaces, options.own_network);
  if (child == 0) RunChild(argv.data(), environment, birth);
  const int problem = errno;
  ::close(log);
  if (nothing >= 0) ::close(nothing);
  if (child < 0) {
    return MakeError(
        ErrorCode::kUnavailable,
        fmt::format("cannot start a process: {}", std::generic_category().message(problem)));
  }
  return child;
}

bool HasEnded(pid_t child) {
  int status = 0;
  const pid_t ended = ::waitpid(child, &status, WNOHANG);
  return ended == child || (ended < 0 && errno == ECHILD);
}

void KillChild(pid_t child) {
  ::kill(child, SIGKILL);
}

}  // namespace podctl::emulator
