#include "providers/emulator/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "providers/emulator/user_namespaces.h"

namespace podctl::emulator {
namespace {

constexpr int kFirstPassed = 3;
constexpr long kNamespaces = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC;

// fork(2), into new namespaces. The raw call, since fork() takes no flags and unshare(2) would move
// this process. Until it calls exec the child may use async-signal-safe functions only.
pid_t Fork(bool namespaces) {
  const long flags = SIGCHLD | (namespaces ? kNamespaces : 0);
  return static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr));
}

void CloseFrom(unsigned first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0U) == 0) return;
#endif
  for (unsigned file = first; file < 4096; ++file) ::close(static_cast<int>(file));
}

struct Birth {
  int input = -1;
  int log = -1;
  int network = -1;  // -1: that of this process
  int* passed = nullptr;
  int passed_count = 0;
  bool dies_with_starter = false;
  bool confined = false;
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
  if (birth.network >= 0 && ::setns(birth.network, CLONE_NEWNET) != 0) ::_exit(125);
  // The passed ones first, out of the way: nothing says that the others are not among 3, 4, ….
  for (int i = 0; i < birth.passed_count; ++i) {
    birth.passed[i] = ::fcntl(birth.passed[i], F_DUPFD, kFirstPassed + birth.passed_count);
  }
  ::dup2(birth.input, 0);
  ::dup2(birth.log, 1);
  ::dup2(birth.log, 2);
  for (int i = 0; i < birth.passed_count; ++i) ::dup2(birth.passed[i], kFirstPassed + i);
  CloseFrom(static_cast<unsigned>(kFirstPassed + birth.passed_count));
  if (::chdir("/") != 0) ::_exit(126);
  if (birth.confined && !ForbidUserNamespaces()) ::_exit(124);
  ::execve(argv[0], argv, environment);
  ::_exit(127);
}

}  // namespace

bool NamespacesWork() {
  const pid_t child = Fork(true);
  if (child < 0) return false;
  if (child == 0) {
    const bool works = ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount("tmpfs", "/mnt", "tmpfs", 0, nullptr) == 0 &&
                       ::mount("devpts", "/mnt", "devpts", 0, "newinstance") == 0 &&
                       ForbidUserNamespaces();
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
  std::vector<int> passed = options.passed_files;
  const Birth birth{.input = options.stdin_file >= 0 ? options.stdin_file : nothing,
                    .log = log,
                    .network = options.network,
                    .passed = passed.data(),
                    .passed_count = static_cast<int>(passed.size()),
                    .dies_with_starter = options.namespaces,
                    .confined = options.confined};
  const pid_t child = Fork(options.namespaces);
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
