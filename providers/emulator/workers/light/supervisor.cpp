#include "providers/emulator/workers/light/supervisor.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

namespace podctl::emulator {
namespace {

constexpr std::size_t kMaxMessage = std::size_t{96} * 1024;
constexpr std::size_t kMaxCommands = 128;  // of one connection at once
constexpr int kSweeps = 50;                // a process may fork while it is looked for

enum class Order : std::uint32_t { kStart, kSignal };

// What precedes the texts: folder, argv and environment, each ended by a NUL.
struct Header {
  Order order = Order::kStart;
  std::uint32_t id = 0;
  std::uint32_t number = 0;  // kStart: words of argv; kSignal: the signal
  std::uint32_t variables = 0;
  std::uint32_t terminal = 0;
};

Error SystemError(const std::string& what, int problem) {
  return MakeError(ErrorCode::kUnavailable,
                   fmt::format("{}: {}", what, std::generic_category().message(problem)));
}

// One message with up to three descriptors. 0, or errno.
int Send(int socket, const void* bytes, std::size_t size, const int* files, std::size_t count) {
  iovec part{const_cast<void*>(bytes), size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(head), files, count * sizeof(int));
  }
  while (true) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0) return 0;
    if (errno == EAGAIN) {
      // Whoever reads it does nothing else; a second is very long.
      pollfd room{socket, POLLOUT, 0};
      if (::poll(&room, 1, 1000) > 0) continue;
      return EAGAIN;
    }
    if (errno != EINTR) return errno;
  }
}

// ---- The spawner and the supervisors. They are forked from a program with threads and never
// become another one, so they keep to system calls and memory that was there before.

struct Received {
  ssize_t size = -1;
  std::array<int, 3> files{-1, -1, -1};
  std::size_t count = 0;
};

std::array<char, kMaxMessage> inbox;

Received Receive(int socket) {
  Received received;
  iovec part{inbox.data(), inbox.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  do {
    received.size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received.size < 0 && errno == EINTR);
  if (received.size <= 0) return received;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    received.count = std::min<std::size_t>((head->cmsg_len - CMSG_LEN(0)) / sizeof(int), 3);
    std::memcpy(received.files.data(), CMSG_DATA(head), received.count * sizeof(int));
  }
  return received;
}

void CloseAllBut(int kept) {
  const auto close_range = [](unsigned first, unsigned last) {
#ifdef SYS_close_range
    if (::syscall(SYS_close_range, first, last, 0U) == 0) return;
#endif
    for (unsigned file = first; file <= std::min(last, 65536U); ++file) {
      ::close(static_cast<int>(file));
    }
  };
  if (kept > 0) close_range(0, static_cast<unsigned>(kept) - 1);
  close_range(static_cast<unsigned>(kept) + 1, ~0U);
}

// Points at the word after this one's NUL; `end` when there is none.
char* Next(char* word, const char* end) {
  while (word < end && *word != '\0') ++word;
  return word < end ? word + 1 : word;
}

[[noreturn]] void BecomeCommand(const Received& received) {
  Header header;
  std::memcpy(&header, inbox.data(), sizeof header);
  static std::array<char*, kMaxMessage / 2> words;
  char* at = inbox.data() + sizeof header;
  const char* const end = inbox.data() + received.size;
  char* const folder = at;
  at = Next(at, end);
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < header.number; ++i, at = Next(at, end)) words[count++] = at;
  words[count++] = nullptr;
  char** const environment = &words[count];
  for (std::uint32_t i = 0; i < header.variables; ++i, at = Next(at, end)) words[count++] = at;
  words[count] = nullptr;

  for (int number : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setsid();  // last, since a signal finds the process only after it: see Strike
  ::umask(022);
  // The descriptors are never 0 to 2: those are open on /dev/null.
  for (int i = 0; i < 3; ++i) ::dup2(received.files[static_cast<std::size_t>(i)], i);
  if (header.terminal != 0) ::ioctl(0, TIOCSCTTY, 0);
  if (::chdir(folder) != 0 && ::chdir("/") != 0) ::_exit(126);
  ::execve(words[0], words.data(), environment);
  ::_exit(127);
}

struct Child {
  std::uint32_t id = 0;
  pid_t pid = -1;
};

class Supervisor {
 public:
  explicit Supervisor(int socket) : socket_(socket) {}

  [[noreturn]] void Run() {
    sigset_t child;
    sigset_t none;
    sigemptyset(&none);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    ::signal(SIGCHLD, [](int) {});
    while (true) {
      pollfd waiting{socket_, POLLIN, 0};
      // Only here a child's end may interrupt, so that none is missed.
      const int ready = ::ppoll(&waiting, 1, nullptr, &none);
      Bury();
      if (ready > 0) Obey();
    }
  }

 private:
  void Obey() {
    const Received received = Receive(socket_);
    if (received.size <= 0) ::_exit(0);
    Header header;
    if (static_cast<std::size_t>(received.size) < sizeof header) ::_exit(1);
    std::memcpy(&header, inbox.data(), sizeof header);
    if (header.order == Order::kSignal) {
      for (const Child& child : children_) {
        if (child.pid > 0 && child.id == header.id) {
          Strike(child.pid, static_cast<int>(header.number));
        }
      }
      return;
    }
    Start(header.id, received);
    for (std::size_t i = 0; i < received.count; ++i) ::close(received.files[i]);
  }

  // A child that was forked just now may not be a group yet.
  static void Strike(pid_t pid, int signal) {
    for (int i = 0; i < 200 && ::kill(-pid, signal) != 0 && errno == ESRCH; ++i) ::usleep(1000);
  }

  void Start(std::uint32_t id, const Received& received) {
    Child* const place = std::find_if(children_.begin(), children_.end(),
                                      [](const Child& child) { return child.pid < 0; });
    const pid_t pid = place == children_.end() || received.count != 3 ? -1 : ::fork();
    if (pid == 0) BecomeCommand(received);
    if (pid > 0) {
      *place = {id, pid};
      return;
    }
    Report({.id = id, .exit_code = 254, .signal = 0});
  }

  void Bury() {
    int status = 0;
    pid_t pid = -1;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      for (Child& child : children_) {
        if (child.pid != pid) continue;
        child.pid = -1;
        Report({.id = child.id,
                .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0});
      }
    }
  }

  void Report(const Ending& ending) const { Send(socket_, &ending, sizeof ending, nullptr, 0); }

  const int socket_;
  std::array<Child, kMaxCommands> children_{};
};

[[noreturn]] void RunNursery(int given, const char* mark) {
  // Out of the way of 0 to 2.
  const int socket = ::fcntl(given, F_DUPFD_CLOEXEC, 10);
  if (socket < 0) ::_exit(1);
  ::prctl(PR_SET_NAME, "light-nursery");
  // What a command leaves behind comes to here, where nobody waits for it and so nothing of it
  // stays. A container's first process may be one that reaps nobody, and a zombie counts as alive.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::setsid();  // a Ctrl-C at the emulator's terminal is not the workers' business
  CloseAllBut(socket);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int file = 0; file < 3; ++file) {
    if (file != nothing) ::dup2(nothing, file);
  }
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD}) {
    ::signal(number, SIG_IGN);
  }
  while (true) {
    const Received received = Receive(socket);
    if (received.size <= 0) break;
    if (received.count != 1) continue;
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_NAME, "sshd-light");
      ::close(socket);
      Supervisor(received.files[0]).Run();
    }
    ::close(received.files[0]);
  }
  KillMarked(mark);
  ::_exit(0);
}

// Reads a file of /proc into `text`, which is memory of the caller's, and returns its size.
std::size_t ReadProcFile(int folder, const char* process, const char* name, char* text,
                         std::size_t room) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "%s/%s", process, name);
  const int file = ::openat(folder, path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::size_t size = 0;
  while (size < room) {
    const ssize_t got = ::read(file, text + size, room - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  ::close(file);
  return size;
}

bool IsMarked(std::string_view environment, std::string_view mark) {
  while (!environment.empty()) {
    if (environment.substr(0, mark.size()) == mark) return true;
    const std::size_t end = environment.find('\0');
    if (end == std::string_view::npos) return false;
    environment.remove_prefix(end + 1);
  }
  return false;
}

bool IsZombie(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string_view::npos && stat.substr(name_end + 1, 2) == " Z";
}

}  // namespace

void KillMarked(const std::string& mark) {
  std::vector<char> text(std::size_t{256} * 1024);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    DIR* const processes = ::opendir("/proc");
    if (processes == nullptr) return;
    bool found = false;
    while (const dirent* entry = ::readdir(processes)) {
      const char* const name = entry->d_name;
      if (name[0] < '1' || name[0] > '9') continue;
      const int folder = ::dirfd(processes);
      const std::size_t size = ReadProcFile(folder, name, "environ", text.data(), text.size());
      if (!IsMarked({text.data(), size}, mark)) continue;
      const std::size_t length = ReadProcFile(folder, name, "stat", text.data(), 512);
      if (IsZombie({text.data(), length})) continue;
      found = ::kill(static_cast<pid_t>(std::atoi(name)), SIGKILL) == 0 || found;
    }
    ::closedir(processes);
    if (!found) return;
  }
}

Result<std::unique_ptr<ProcessSpawner>> ProcessSpawner::Start(const std::string& mark) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return SystemError("cannot make a socket", errno);
  }
  const pid_t pid = ::fork();
  if (pid == 0) RunNursery(ends[1], mark.c_str());
  const int problem = errno;
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    return SystemError("cannot start a process", problem);
  }
  return std::unique_ptr<ProcessSpawner>(new ProcessSpawner(ends[0], pid));
}

ProcessSpawner::~ProcessSpawner() {
  ::close(socket_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<int> ProcessSpawner::NewSupervisor() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return SystemError("cannot make a socket", errno);
  }
  int problem = 0;
  {
    const std::lock_guard lock(mutex_);
    problem = Send(socket_, "k", 1, &ends[1], 1);
  }
  ::close(ends[1]);
  if (problem == 0 && ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) return ends[0];
  ::close(ends[0]);
  return SystemError("cannot start a process for the connection", problem);
}

Result<void> ProcessSpawner::RunAlone(const Command& command) {
  Result<int> supervisor = NewSupervisor();
  if (!supervisor) return supervisor.error();
  // A supervisor does what it was told before it sees that nobody is there any more.
  Result<void> done = StartCommand(*supervisor, 0, command);
  ::close(*supervisor);
  return done;
}

Result<void> StartCommand(int supervisor, std::uint32_t id, const Command& command) {
  Header header{.order = Order::kStart,
                .id = id,
                .number = static_cast<std::uint32_t>(command.argv.size()),
                .variables = static_cast<std::uint32_t>(command.environment.size()),
                .terminal = command.terminal ? 1U : 0U};
  std::string message(reinterpret_cast<const char*>(&header), sizeof header);
  const auto add = [&message](const std::string& text) { message.append(text.c_str()) += '\0'; };
  add(command.folder);
  for (const std::string& word : command.argv) add(word);
  for (const std::string& variable : command.environment) add(variable);
  if (message.size() > kMaxMessage) {
    return MakeError(ErrorCode::kOutOfRange, "the command is too long");
  }
  const std::array<int, 3> files{command.in, command.out, command.err};
  const int problem = Send(supervisor, message.data(), message.size(), files.data(), files.size());
  if (problem != 0) return SystemError("the connection's process is gone", problem);
  return {};
}

void SignalCommand(int supervisor, std::uint32_t id, int signal) {
  const Header header{.order = Order::kSignal,
                      .id = id,
                      .number = static_cast<std::uint32_t>(signal),
                      .variables = 0,
                      .terminal = 0};
  Send(supervisor, &header, sizeof header, nullptr, 0);
}

std::optional<Ending> ReadEnding(int supervisor, bool* gone) {
  Ending ending;
  const ssize_t size = ::recv(supervisor, &ending, sizeof ending, MSG_DONTWAIT);
  if (size == static_cast<ssize_t>(sizeof ending)) return ending;
  *gone = size >= 0 || (errno != EAGAIN && errno != EINTR);
  return std::nullopt;
}

}  // namespace podctl::emulator
