#include "providers/os/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "providers/os/descriptor.h"

extern char** environ;

namespace podctl {
namespace {

// What the child starts with: no signals blocked or ignored, its own process group, and only the
// three standard streams.
class Setup {
 public:
  explicit Setup(int error_fd) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, error_fd, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Setup() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<std::unique_ptr<Child>> Child::Start(const std::vector<std::string>& arguments) {
  PODCTL_CHECK(!arguments.empty());
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return MakeError(ErrorCode::kIo, fmt::format("no pipe: {}", std::strerror(errno)));
  }
  const Descriptor write_end(ends[1]);
  // Its own from here on, whatever goes wrong below.
  std::unique_ptr<Child> child(new Child(ends[0]));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const Setup setup(write_end.get());
  const int error = posix_spawnp(&child->pid_, argv[0], setup.actions(), setup.attributes(),
                                 argv.data(), environ);
  if (error != 0) child->pid_ = -1;
  if (error == ENOENT) {
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("there is no program {} in PATH", arguments[0]));
  }
  if (error != 0) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("cannot start {}: {}", arguments[0], std::strerror(error)));
  }
  child->exit_fd_ = static_cast<int>(syscall(SYS_pidfd_open, child->pid_, 0));
  return child;
}

Child::~Child() {
  Kill();
  close(error_fd_);
  if (exit_fd_ >= 0) close(exit_fd_);
}

std::optional<int> Child::HasEnded() {
  if (code_) return code_;
  int status = 0;
  if (Uninterrupted([&] { return waitpid(pid_, &status, WNOHANG); }) != pid_) return std::nullopt;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

void Child::Kill() {
  if (pid_ <= 0 || HasEnded()) return;
  kill(-pid_, SIGKILL);
  int status = 0;
  Uninterrupted([&] { return waitpid(pid_, &status, 0); });
  code_ = 128 + SIGKILL;
}

namespace {

std::vector<char*> PointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

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
