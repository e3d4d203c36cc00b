// Runs a command and strikes at one of its system calls: kills it there, or makes the call fail.
//
//   syscall_fault [OPTIONS] -- COMMAND...
//     --at K          strike at the K-th call that counts; 0 (the default) only counts
//     --do WHAT       kill (the default): the process dies before the call is carried out;
//                     short: the call is asked for half the bytes (only calls that write count);
//                     ENOSPC, EIO ...: the call does nothing and fails like that (a close closes
//                     and fails); for EMFILE and ENFILE only calls that open a file count;
//                     INT, TERM, HUP, PIPE: the process is sent that signal, and makes the call
//     --sticky        and at every call that counts after it (not for kill)
//     --acting        only calls count that can change the world (write, rename, connect ...)
//     --under FOLDER  only calls count on FOLDER and on files in it
//     --report FILE   gets "counted N" and, after a strike, "struck NAME PATH"
//
// Calls of all threads are counted together. Ends with the command's exit code, 128 + N when signal
// N ended it, 125 when it could not be traced. Other programs that the command starts are left
// alone. By ptrace(2), so that the command is the very binary that users run; needs Linux 5.3
// (PTRACE_GET_SYSCALL_INFO).
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr int kCannotTrace = 125;

struct Options {
  long at = 0;
  std::string what = "kill";
  int error = 0;  // the errno of `what`, where it is one
  bool sticky = false;
  bool acting = false;
  std::string under;
  std::string report;
  std::vector<char*> command;
};

const std::map<std::string, int> kErrors = {
    {"ENOSPC", ENOSPC}, {"EIO", EIO},     {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"EROFS", EROFS},
    {"EDQUOT", EDQUOT}, {"EINTR", EINTR}, {"ENFILE", ENFILE}, {"ENOLCK", ENOLCK}, {"EPERM", EPERM}};

const std::map<std::string, int> kSignals = {
    {"INT", SIGINT}, {"TERM", SIGTERM}, {"HUP", SIGHUP}, {"PIPE", SIGPIPE}};

// What a call is about: the arguments that are file descriptors or paths, and whether it acts.
struct Shape {
  const char* name;
  int fd = -1;        // the argument that is an open file
  int path = -1;      // the argument that is a path
  int path2 = -1;     // the second one, of a rename or link
  bool acts = false;  // can change the world outside of the process
  bool writes = false;
};

const std::map<std::uint64_t, Shape>& Shapes() {
  static const std::map<std::uint64_t, Shape> shapes = {
      {SYS_openat, {.name = "openat", .path = 1}},  // acts by its flags, see Acts()
      {SYS_read, {.name = "read", .fd = 0}},
      {SYS_pread64, {.name = "pread64", .fd = 0}},
      {SYS_write, {.name = "write", .fd = 0, .acts = true, .writes = true}},
      {SYS_pwrite64, {.name = "pwrite64", .fd = 0, .acts = true, .writes = true}},
      {SYS_writev, {.name = "writev", .fd = 0, .acts = true}},
      {SYS_fsync, {.name = "fsync", .fd = 0, .acts = true}},
      {SYS_fdatasync, {.name = "fdatasync", .fd = 0, .acts = true}},
      {SYS_ftruncate, {.name = "ftruncate", .fd = 0, .acts = true}},
      {SYS_fchmod, {.name = "fchmod", .fd = 0, .acts = true}},
      {SYS_flock, {.name = "flock", .fd = 0, .acts = true}},
      {SYS_close, {.name = "close", .fd = 0}},
      {SYS_fstat, {.name = "fstat", .fd = 0}},
      {SYS_lseek, {.name = "lseek", .fd = 0}},
      {SYS_getdents64, {.name = "getdents64", .fd = 0}},
      {SYS_newfstatat, {.name = "newfstatat", .fd = 0, .path = 1}},
      {SYS_statx, {.name = "statx", .fd = 0, .path = 1}},
      {SYS_readlinkat, {.name = "readlinkat", .path = 1}},
      {SYS_mkdirat, {.name = "mkdirat", .path = 1, .acts = true}},
      {SYS_unlinkat, {.name = "unlinkat", .path = 1, .acts = true}},
      {SYS_renameat, {.name = "renameat", .path = 1, .path2 = 3, .acts = true}},
      {SYS_renameat2, {.name = "renameat2", .path = 1, .path2 = 3, .acts = true}},
      {SYS_linkat, {.name = "linkat", .path = 1, .path2 = 3, .acts = true}},
      {SYS_connect, {.name = "connect", .fd = 0, .acts = true}},
      {SYS_sendto, {.name = "sendto", .fd = 0, .acts = true}},
      {SYS_sendmsg, {.name = "sendmsg", .fd = 0, .acts = true}},
#ifdef __x86_64__
      {SYS_open, {.name = "open", .path = 0, .acts = true}},
      {SYS_stat, {.name = "stat", .path = 0}},
      {SYS_lstat, {.name = "lstat", .path = 0}},
      {SYS_readlink, {.name = "readlink", .path = 0}},
      {SYS_mkdir, {.name = "mkdir", .path = 0, .acts = true}},
      {SYS_unlink, {.name = "unlink", .path = 0, .acts = true}},
      {SYS_rename, {.name = "rename", .path = 0, .path2 = 1, .acts = true}},
      {SYS_link, {.name = "link", .path = 0, .path2 = 1, .acts = true}},
#endif
  };
  return shapes;
}

// ---- A stopped thread's memory, registers and files.

#if defined(__x86_64__)
using Registers = user_regs_struct;
void SetArgument2(Registers& registers, std::uint64_t value) {
  registers.rdx = value;
}
void SetResult(Registers& registers, std::int64_t value) {
  registers.rax = static_cast<std::uint64_t>(value);
}
#elif defined(__aarch64__)
using Registers = user_pt_regs;
void SetArgument2(Registers& registers, std::uint64_t value) {
  registers.regs[2] = value;
}
void SetResult(Registers& registers, std::int64_t value) {
  registers.regs[0] = static_cast<std::uint64_t>(value);
}
#else
#error "say here how this processor hands over a system call's arguments"
#endif

constexpr int kGeneralRegisters = 1;  // NT_PRSTATUS

template <typename Edit>
void EditRegisters(pid_t thread, const Edit& edit) {
  Registers registers{};
  iovec room{&registers, sizeof registers};
  ptrace(PTRACE_GETREGSET, thread, kGeneralRegisters, &room);
  edit(registers);
  ptrace(PTRACE_SETREGSET, thread, kGeneralRegisters, &room);
}

// The call that the thread is about to make becomes none.
void SkipCall(pid_t thread) {
#if defined(__x86_64__)
  EditRegisters(thread, [](Registers& registers) { registers.orig_rax = ~std::uint64_t{0}; });
#else
  int none = -1;
  iovec room{&none, sizeof none};
  ptrace(PTRACE_SETREGSET, thread, 0x404 /* NT_ARM_SYSTEM_CALL */, &room);
#endif
}

std::string TextAt(pid_t thread, std::uint64_t address) {
  std::string text;
  while (text.size() < PATH_MAX) {
    errno = 0;
    const long word = ptrace(PTRACE_PEEKDATA, thread, address + text.size(), nullptr);
    if (errno != 0) break;
    char bytes[sizeof word];
    std::memcpy(bytes, &word, sizeof word);
    for (char byte : bytes) {
      if (byte == '\0') return text;
      text += byte;
    }
  }
  return text;
}

std::string LinkTarget(const std::string& link) {
  char target[PATH_MAX];
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  return size < 0 ? "" : std::string(target, static_cast<std::size_t>(size));
}

std::string Absolute(pid_t thread, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  std::string rest = path;
  while (rest.starts_with("./")) rest.erase(0, 2);
  const std::string folder = LinkTarget("/proc/" + std::to_string(thread) + "/cwd");
  return rest == "." ? folder : folder + "/" + rest;
}

using Entry = decltype(__ptrace_syscall_info{}.entry);

// The files a call is about, the one it changes first; empty for calls that are about none.
std::vector<std::string> PathsOf(pid_t thread, const Shape& shape, const Entry& entry) {
  std::vector<std::string> paths;
  for (int argument : {shape.path2, shape.path}) {
    if (argument < 0) continue;
    std::string path = Absolute(thread, TextAt(thread, entry.args[argument]));
    if (!path.empty()) paths.push_back(std::move(path));
  }
  if (paths.empty() && shape.fd >= 0) {
    const int fd = static_cast<int>(entry.args[shape.fd]);
    paths.push_back(LinkTarget("/proc/" + std::to_string(thread) + "/fd/" + std::to_string(fd)));
  }
  return paths;
}

// ---- Tracing.

class Tracer {
 public:
  explicit Tracer(const Options& options) : options_(options) {}

  int Run() {
    main_ = fork();
    if (main_ < 0) return kCannotTrace;
    if (main_ == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kCannotTrace);
      raise(SIGSTOP);
      // A sanitizer's check for leaks is a tracer too, and a process has one at most.
      const char* set = std::getenv("ASAN_OPTIONS");
      const std::string options = (set == nullptr ? "" : std::string(set) + ":") + "detect_leaks=0";
      setenv("ASAN_OPTIONS", options.c_str(), 1);
      execvp(options_.command[0], const_cast<char* const*>(options_.command.data()));
      _exit(127);
    }
    int status = 0;
    if (waitpid(main_, &status, __WALL) != main_ || !WIFSTOPPED(status)) return kCannotTrace;
    constexpr long kWishes =
        PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, main_, nullptr, kWishes) != 0) return kCannotTrace;
    known_.insert(main_);
    ptrace(PTRACE_SYSCALL, main_, nullptr, 0);
    return Follow();
  }

  long counted() const { return counted_; }
  const std::string& struck() const { return struck_; }

 private:
  int Follow() {
    while (true) {
      int status = 0;
      const pid_t thread = waitpid(-1, &status, __WALL);
      if (thread < 0 && errno == EINTR) continue;
      if (thread < 0) return kCannotTrace;
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        if (thread != main_) continue;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      int signal = 0;
      if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
        OnCall(thread);
      } else if (known_.insert(thread).second || status >> 16 != 0) {
        // A new thread's first stop, or news of a clone or exec: no signal of the program's.
      } else {
        signal = WSTOPSIG(status);
      }
      ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
    }
  }

  void OnCall(pid_t thread) {
    __ptrace_syscall_info info{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) {
      return;  // killed meanwhile
    }
    if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
      if (failing_.erase(thread) > 0) {
        EditRegisters(thread, [&](Registers& all) { SetResult(all, -options_.error); });
      }
      return;
    }
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return;
    const auto found = Shapes().find(info.entry.nr);
    const Shape* shape = found == Shapes().end() ? nullptr : &found->second;
    if (!Counts(thread, shape, info)) return;
    ++counted_;
    const bool now = counted_ == options_.at || (options_.sticky && counted_ > options_.at);
    if (options_.at == 0 || !now) return;
    if (struck_.empty()) struck_ = Describe(thread, shape, info);
    Strike(thread, info.entry);
  }

  bool Counts(pid_t thread, const Shape* shape, const __ptrace_syscall_info& info) const {
    const auto& entry = info.entry;
    if (options_.what == "short" && (shape == nullptr || !shape->writes || entry.args[2] < 2)) {
      return false;
    }
    const bool opens_only = options_.error == EMFILE || options_.error == ENFILE;
    if (opens_only && (shape == nullptr || std::string(shape->name).rfind("open", 0) != 0)) {
      return false;
    }
    if (options_.acting && (shape == nullptr || !Acts(*shape, info))) return false;
    if (options_.under.empty()) return true;
    if (shape == nullptr) return false;
    for (const std::string& path : PathsOf(thread, *shape, info.entry)) {
      if (path == options_.under || path.starts_with(options_.under + "/")) return true;
    }
    return false;
  }

  static bool Acts(const Shape& shape, const __ptrace_syscall_info& info) {
    const auto& entry = info.entry;
    if (entry.nr == SYS_openat) return (entry.args[2] & (O_CREAT | O_WRONLY | O_RDWR)) != 0;
    return shape.acts;
  }

  static std::string Describe(pid_t thread, const Shape* shape, const __ptrace_syscall_info& info) {
    if (shape == nullptr) return "call " + std::to_string(info.entry.nr);
    std::string text = shape->name;
    for (const std::string& path : PathsOf(thread, *shape, info.entry)) text += " " + path;
    return text;
  }

  void Strike(pid_t thread, const Entry& entry) {
    if (options_.what == "kill") {
      kill(main_, SIGKILL);  // a thread that dies at the entry of a call does not carry it out
    } else if (const auto signal = kSignals.find(options_.what); signal != kSignals.end()) {
      kill(main_, signal->second);
    } else if (options_.what == "short") {
      EditRegisters(thread, [&](Registers& all) { SetArgument2(all, entry.args[2] / 2); });
    } else {
      // Linux closes whatever it answers (close(2)).
      if (entry.nr != SYS_close) SkipCall(thread);
      failing_.insert(thread);
    }
  }

  const Options& options_;
  pid_t main_ = -1;
  std::set<pid_t> known_;
  std::set<pid_t> failing_;  // threads whose call is to fail
  long counted_ = 0;
  std::string struck_;
};

std::optional<Options> ReadOptions(int argc, char** argv) {
  Options options;
  int i = 1;
  for (; i < argc && std::string(argv[i]) != "--"; ++i) {
    const std::string option = argv[i];
    if (option == "--sticky") {
      options.sticky = true;
      continue;
    }
    if (option == "--acting") {
      options.acting = true;
      continue;
    }
    if (i + 1 == argc) return std::nullopt;
    const std::string value = argv[++i];
    if (option == "--at") {
      options.at = std::atol(value.c_str());
    } else if (option == "--do") {
      options.what = value;
    } else if (option == "--under") {
      options.under = value;
    } else if (option == "--report") {
      options.report = value;
    } else {
      return std::nullopt;
    }
  }
  for (++i; i < argc; ++i) options.command.push_back(argv[i]);
  if (options.command.empty()) return std::nullopt;
  options.command.push_back(nullptr);
  const bool signal = kSignals.contains(options.what);
  if (signal || options.what == "kill" || options.what == "short") return options;
  const auto error = kErrors.find(options.what);
  if (error == kErrors.end()) return std::nullopt;
  options.error = error->second;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = ReadOptions(argc, argv);
  if (!options) {
    std::cerr << "usage: syscall_fault [--at K] [--do kill|short|INT|ENOSPC|...] [--sticky]\n"
                 "                     [--acting] [--under FOLDER] [--report FILE] -- COMMAND...\n";
    return kCannotTrace;
  }
  Tracer tracer(*options);
  const int code = tracer.Run();
  if (!options->report.empty()) {
    std::ofstream report(options->report);
    report << "counted " << tracer.counted() << "\n";
    if (!tracer.struck().empty()) report << "struck " << tracer.struck() << "\n";
  }
  return code;
}
