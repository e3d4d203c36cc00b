#include "providers/os/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "providers/base/text.h"

extern char** environ;

namespace podctl {
namespace {

std::vector<char*> PointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// It starts with no signals blocked, in a process group of its own, with no signals ignored and
// only the three standard streams. Without `streams` it takes this process's place: it has those
// that are ours, and our group.
Result<pid_t> Spawn(std::vector<std::string> words, const Program::Streams* streams) {
  PODCTL_CHECK(!words.empty());
  const std::string path = FindProgram(words[0]);
  if (path.empty() || access(path.c_str(), X_OK) != 0) {
    return MakeError(ErrorCode::kNotFound, fmt::format("there is no program {} in PATH", words[0]));
  }
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  sigset_t blocked;
  sigset_t defaults;
  sigemptyset(&blocked);
  sigemptyset(&defaults);
  if (streams == nullptr) {
    sigaddset(&defaults, SIGPIPE);  // which podctl ignores; what else is ignored the user wanted so
  } else {
    sigfillset(&defaults);
    flags |= POSIX_SPAWN_SETPGROUP;
    const int from[] = {streams->in, streams->out, streams->error};
    for (int fd = 0; fd < 3; ++fd) {
      if (from[fd] >= 0) {
        posix_spawn_file_actions_adddup2(&actions, from[fd], fd);
      } else {
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY,
                                         0);
      }
    }
  }
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, flags);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, path.c_str(), &actions, &attributes, PointersTo(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  return MakeError(ErrorCode::kIo,
                   fmt::format("cannot start {}: {}", words[0], std::strerror(error)));
}

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

std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  for (const std::string_view folder :
       Split(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin", ":")) {
    // An empty entry means the current folder (POSIX); nobody wants a program from there.
    if (folder.empty()) continue;
    std::string program = fmt::format("{}/{}", folder, name);
    struct stat info {};
    if (::stat(program.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return {};
}

Result<void> Program::Launch(const std::vector<std::string>& words, const Streams& streams) {
  const Result<pid_t> pid = Spawn(words, &streams);
  if (!pid) return pid.error();
  pid_ = *pid;
  return {};
}

std::optional<int> Program::HasEnded() {
  int status = 0;
  if (!status_ && Uninterrupted([&] { return waitpid(pid_, &status, WNOHANG); }) == pid_) {
    status_ = status;
  }
  if (!status_) return std::nullopt;
  return signal() != 0 ? 128 + signal() : WEXITSTATUS(*status_);
}

void Program::Kill() {
  if (pid_ <= 0 || HasEnded()) return;
  kill(-pid_, SIGKILL);
  int status = SIGKILL;
  Uninterrupted([&] { return waitpid(pid_, &status, 0); });
  status_ = status;
}

Result<std::unique_ptr<Child>> Child::Start(const std::vector<std::string>& arguments) {
  auto ends = MakePipe();
  if (!ends) return ends.error();
  fcntl(ends->read.get(), F_SETFL, O_NONBLOCK);
  std::unique_ptr<Child> child(new Child(std::move(ends->read)));
  if (auto started = child->Launch(arguments, {-1, -1, ends->write.get()}); !started) {
    return started.error();
  }
  child->exit_fd_.emplace(static_cast<int>(syscall(SYS_pidfd_open, child->pid(), 0)));
  return child;
}

Result<ForegroundEnd> RunInForeground(const std::vector<std::string>& arguments,
                                      const std::stop_token& stop) {
  const Result<pid_t> pid = Spawn(arguments, nullptr);
  if (!pid) return pid.error();
  {
    const std::stop_callback end(stop, [&] { kill(*pid, SIGTERM); });
    AwaitEnd(*pid);
  }
  int status = 0;
  Uninterrupted([&] { return waitpid(*pid, &status, 0); });
  if (WIFSIGNALED(status)) return ForegroundEnd{0, WTERMSIG(status)};
  return ForegroundEnd{WEXITSTATUS(status), 0};
}

Error BecomeProgram(const std::vector<std::string>& words,
                    const std::map<std::string, std::string>& variables) {
  PODCTL_CHECK(!words.empty());
  std::vector<std::string> arguments = words;
  std::vector<std::string> environment;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string text = *each;
    if (!variables.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  ::execve(arguments.front().c_str(), PointersTo(arguments).data(), PointersTo(environment).data());
  return SystemError("run", words.front(), errno);
}

}  // namespace podctl
