#include "providers/emulator/workers/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace podctl::emulator {
namespace {

// ---- Keeps a process, and all that it starts, from making user namespaces: in one of its own a
// worker's root has every capability again, and with a cgroup namespace beside it may mount all
// cgroups of the machine, freeze its processes and kill them. Docker's default filter forbids the
// same.

// The calls that make namespaces, by their numbers: a 64-bit kernel runs 32-bit programs too.
struct CallNumbers {
  std::uint32_t name;
  std::uint32_t clone;
  std::uint32_t unshare;
};

#if defined(__x86_64__)
constexpr CallNumbers kMachines[] = {{AUDIT_ARCH_X86_64, 56, 272}, {AUDIT_ARCH_I386, 120, 310}};
constexpr std::uint32_t kFirstForeignCall = 0x40000000;  // x32: the same calls once more
#elif defined(__aarch64__)
constexpr CallNumbers kMachines[] = {{AUDIT_ARCH_AARCH64, 220, 97}, {AUDIT_ARCH_ARM, 120, 337}};
constexpr std::uint32_t kFirstForeignCall = 0xffffffff;
#else
constexpr CallNumbers kMachines[] = {{0, 0, 0}};
constexpr std::uint32_t kFirstForeignCall = 0xffffffff;
#endif

constexpr std::uint32_t kClone3 = 435;  // everywhere
constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;
// clone3's flags lie in memory, where no filter can look; the C library then takes clone.
constexpr std::uint32_t kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

constexpr sock_filter Load(std::size_t offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
}
constexpr sock_filter Skip(std::uint16_t test, std::uint32_t value, std::uint8_t if_true,
                           std::uint8_t if_false) {
  return {static_cast<std::uint16_t>(BPF_JMP | BPF_K | test), if_true, if_false, value};
}
constexpr sock_filter Return(std::uint32_t what) {
  return {BPF_RET | BPF_K, 0, 0, what};
}

// By seccomp(2), for ever. Async-signal-safe, so that a child may call it before exec. False where
// it cannot be done: no CAP_SYS_ADMIN, a kernel without filters, an architecture not known here.
bool ForbidUserNamespaces() {
  if (kMachines[0].name == 0) return false;
  const CallNumbers& here = kMachines[0];
  const CallNumbers& small = kMachines[sizeof kMachines / sizeof kMachines[0] - 1];
  // The flags of clone and unshare are their first argument, and its low word comes first.
  sock_filter program[] = {
      /* 0 */ Load(offsetof(seccomp_data, arch)),
      /* 1 */ Skip(BPF_JEQ, here.name, 0, 5),
      /* 2 */ Load(offsetof(seccomp_data, nr)),
      /* 3 */ Skip(BPF_JGE, kFirstForeignCall, 10, 0),
      /* 4 */ Skip(BPF_JEQ, here.clone, 6, 0),
      /* 5 */ Skip(BPF_JEQ, here.unshare, 5, 0),
      /* 6 */ Skip(BPF_JEQ, kClone3, 7, 8),
      /* 7 */ Skip(BPF_JEQ, small.name, 0, 6),
      /* 8 */ Load(offsetof(seccomp_data, nr)),
      /* 9 */ Skip(BPF_JEQ, small.clone, 1, 0),
      /* 10 */ Skip(BPF_JEQ, small.unshare, 0, 2),
      /* 11 */ Load(offsetof(seccomp_data, args[0])),
      /* 12 */ Skip(BPF_JSET, CLONE_NEWUSER, 3, 2),
      /* 13 */ Skip(BPF_JEQ, kClone3, 0, 1),
      /* 14 */ Return(kUnknown),
      /* 15 */ Return(kAllow),
      /* 16 */ Return(kDeny),
  };
  const sock_fprog filter{.len = sizeof program / sizeof program[0], .filter = program};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// ---- The child.

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
