#include "providers/emulator/workers/light/channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace podctl::emulator {
namespace {

constexpr std::size_t kChunk = std::size_t{32} * 1024;
constexpr std::size_t kPerTurn = std::size_t{256} * 1024;  // then the next connection has its turn
constexpr std::size_t kMostCollected = std::size_t{64} * 1024;  // bytes of input
constexpr std::size_t kMaxPending = std::size_t{64} * 1024;
constexpr std::size_t kMaxVariables = 64;
constexpr char kSftpServer[] = "/usr/lib/openssh/sftp-server";

struct SignalName {
  std::string_view name;
  int number;
};

// RFC 4254 section 6.10.
constexpr std::array<SignalName, 13> kSignals{{{"ABRT", SIGABRT},
                                               {"ALRM", SIGALRM},
                                               {"FPE", SIGFPE},
                                               {"HUP", SIGHUP},
                                               {"ILL", SIGILL},
                                               {"INT", SIGINT},
                                               {"KILL", SIGKILL},
                                               {"PIPE", SIGPIPE},
                                               {"QUIT", SIGQUIT},
                                               {"SEGV", SIGSEGV},
                                               {"TERM", SIGTERM},
                                               {"USR1", SIGUSR1},
                                               {"USR2", SIGUSR2}}};

std::string NameOf(int signal) {
  for (const SignalName& known : kSignals) {
    if (known.number == signal) return std::string(known.name);
  }
  return fmt::format("SIG{}@podctl", signal);
}

Error SystemError(const char* what) {
  return MakeError(ErrorCode::kUnavailable,
                   fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

void MakeNonBlocking(int file) {
  ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) | O_NONBLOCK);
}

winsize WindowOf(int columns, int rows, int width, int height) {
  winsize window{};
  window.ws_col = static_cast<unsigned short>(columns);
  window.ws_row = static_cast<unsigned short>(rows);
  window.ws_xpixel = static_cast<unsigned short>(width);
  window.ws_ypixel = static_cast<unsigned short>(height);
  return window;
}

}  // namespace

Channel::Channel(ChannelHome& home, ssh_channel channel, std::uint32_t id)
    : home_(home), channel_(channel), id_(id) {
  Listen();
}

Channel::Channel(ChannelHome& home, ssh_channel channel, std::uint32_t id, int socket)
    : home_(home), channel_(channel), id_(id), started_(true), forwarded_(true) {
  Listen();
  MakeNonBlocking(socket);
  in_ = Descriptor(socket);
  out_ = Descriptor(::fcntl(socket, F_DUPFD_CLOEXEC, 3));
}

Channel::~Channel() {
  // libssh keeps the channel until the client has closed it too, and calls for what still comes.
  ssh_remove_channel_callbacks(channel_, &callbacks_);
  ssh_channel_free(channel_);
}

void Channel::Listen() {
  callbacks_.userdata = this;
  callbacks_.channel_pty_request_function = [](ssh_session, ssh_channel, const char* terminal,
                                               int columns, int rows, int width, int height,
                                               void* data) {
    auto* self = static_cast<Channel*>(data);
    self->terminal_ = true;
    self->window_ = WindowOf(columns, rows, width, height);
    self->variables_.push_back(std::string("TERM=") + terminal);
    return 0;
  };
  callbacks_.channel_pty_window_change_function = [](ssh_session, ssh_channel, int columns,
                                                     int rows, int width, int height, void* data) {
    auto* self = static_cast<Channel*>(data);
    self->window_ = WindowOf(columns, rows, width, height);
    if (self->in_.open()) ::ioctl(self->in_.get(), TIOCSWINSZ, &self->window_);
    return 0;
  };
  callbacks_.channel_env_request_function = [](ssh_session, ssh_channel, const char* name,
                                               const char* value, void* data) {
    auto* self = static_cast<Channel*>(data);
    const std::string_view wanted = name;
    // What the sshd of other workers has in AcceptEnv.
    const bool fits = wanted == "LANG" || wanted.substr(0, 3) == "LC_";
    if (!fits || self->variables_.size() >= kMaxVariables) return 1;
    self->variables_.push_back(fmt::format("{}={}", name, value));
    return 0;
  };
  callbacks_.channel_exec_request_function = [](ssh_session, ssh_channel, const char* command,
                                                void* data) {
    auto* self = static_cast<Channel*>(data);
    if (self->asked_ != Asked::kNothing) return 1;
    self->asked_ = Asked::kCommand;
    self->words_ = command;
    return 0;
  };
  callbacks_.channel_shell_request_function = [](ssh_session, ssh_channel, void* data) {
    auto* self = static_cast<Channel*>(data);
    if (self->asked_ != Asked::kNothing) return 1;
    self->asked_ = Asked::kShell;
    return 0;
  };
  callbacks_.channel_subsystem_request_function = [](ssh_session, ssh_channel, const char* name,
                                                     void* data) {
    auto* self = static_cast<Channel*>(data);
    const bool known = std::string_view(name) == "sftp" && ::access(kSftpServer, X_OK) == 0;
    if (self->asked_ != Asked::kNothing || !known) return 1;
    self->asked_ = Asked::kSubsystem;
    return 0;
  };
  callbacks_.channel_signal_function = [](ssh_session, ssh_channel, const char* name, void* data) {
    static_cast<Channel*>(data)->Signal(name);
  };
  ssh_callbacks_init(&callbacks_);
  ssh_set_channel_callbacks(channel_, &callbacks_);
}

void Channel::Signal(std::string_view name) {
  if (!running_) return;
  for (const SignalName& known : kSignals) {
    if (known.name != name) continue;
    if (Result<int> supervisor = home_.supervisor()) SignalCommand(*supervisor, id_, known.number);
  }
}

std::vector<std::string> Channel::Arguments(const Login& login) const {
  if (asked_ == Asked::kSubsystem) return {kSftpServer};
  if (asked_ == Asked::kCommand) return {login.shell, "-c", words_};
  return {login.shell, "-i"};
}

std::vector<std::string> Channel::Environment(const Login& login) const {
  std::vector<std::string> environment = login.environment;
  environment.insert(environment.end(), home_.environment().begin(), home_.environment().end());
  environment.insert(environment.end(), variables_.begin(), variables_.end());
  return environment;
}

void Channel::Start() {
  started_ = true;
  if (asked_ == Asked::kCommand && !terminal_) {
    answer_ = AnswerInline(words_, home_.host().Hostname());
    if (answer_) return;
    collecting_ = home_.host().MayAnswer(words_);
    if (collecting_) return;
  }
  StartProcess();
}

void Channel::Collect() {
  std::array<char, kChunk> buffer;
  int got = 0;
  while (pending_.size() < kMostCollected &&
         (got = ssh_channel_read_nonblocking(channel_, buffer.data(), buffer.size(), 0)) > 0) {
    pending_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  in_ended_ = got == SSH_EOF || ssh_channel_is_eof(channel_) != 0;
  if (!in_ended_ && pending_.size() < kMostCollected) return;
  collecting_ = false;
  if (in_ended_) answer_ = home_.host().Answer(words_, pending_);
  if (!answer_) StartProcess();
}

void Channel::StartProcess() {
  Result<Login> login = home_.host().LogIn(home_.user());
  Result<void> started = login ? TryStart(*login) : Result<void>(login.error());
  if (started) return;
  // As of a shell that cannot run what it was given.
  const std::string text = started.error().message + "\n";
  ssh_channel_write_stderr(channel_, text.data(), static_cast<std::uint32_t>(text.size()));
  in_.Close();
  out_.Close();
  err_.Close();
  SendEnding({.id = id_, .exit_code = 254, .signal = 0});
}

Result<void> Channel::OpenTerminal(Command* command, std::vector<Descriptor>* theirs) {
  Descriptor ours(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  std::array<char, 128> name{};
  if (!ours.open() || ::grantpt(ours.get()) != 0 || ::unlockpt(ours.get()) != 0 ||
      ::ptsname_r(ours.get(), name.data(), name.size()) != 0) {
    return SystemError("no terminal can be had");
  }
  ::ioctl(ours.get(), TIOCSWINSZ, &window_);
  theirs->emplace_back(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!theirs->back().open()) return SystemError("the terminal cannot be opened");
  command->in = command->out = command->err = theirs->back().get();
  command->terminal = true;
  MakeNonBlocking(ours.get());
  out_ = Descriptor(::fcntl(ours.get(), F_DUPFD_CLOEXEC, 3));
  in_ = std::move(ours);
  return {};
}

Result<void> Channel::OpenPipes(Command* command, std::vector<Descriptor>* theirs) {
  for (int* const end : {&command->in, &command->out, &command->err}) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("cannot make a pipe");
    const bool input = end == &command->in;
    *end = ends[input ? 0 : 1];
    theirs->emplace_back(*end);
    Descriptor& ours = input ? in_ : end == &command->out ? out_ : err_;
    ours = Descriptor(ends[input ? 1 : 0]);
    MakeNonBlocking(ours.get());
  }
  return {};
}

Result<void> Channel::TryStart(const Login& login) {
  Command command{.argv = Arguments(login),
                  .environment = Environment(login),
                  .folder = login.folder,
                  .terminal = false};
  std::vector<Descriptor> theirs;
  Result<void> done = terminal_ ? OpenTerminal(&command, &theirs) : OpenPipes(&command, &theirs);
  if (!done) return done;
  Result<int> supervisor = home_.supervisor();
  if (!supervisor) return supervisor.error();
  done = StartCommand(*supervisor, id_, command);
  running_ = done.has_value();
  return done;
}

std::size_t Channel::WritableBytes() const {
  // What libssh holds already is not to grow without limit.
  if ((ssh_get_poll_flags(home_.session()) & SSH_WRITE_PENDING) != 0) {
    home_.AwaitFlush();
    return 0;
  }
  return ssh_channel_window_size(channel_);
}

bool Channel::Pump() {
  if (over_ || ssh_channel_is_closed(channel_) != 0) return true;
  if (!started_) {
    if (asked_ == Asked::kNothing) return ssh_channel_is_eof(channel_) != 0;
    Start();
  }
  if (collecting_) Collect();
  if (answer_) PumpAnswer();
  if (in_.open()) PumpIn();
  PumpOut(out_, false);
  PumpOut(err_, true);
  if (over_ || out_.open() || err_.open() || running_ || answer_ || collecting_) return over_;
  ssh_channel_send_eof(channel_);
  ssh_channel_close(channel_);
  over_ = true;
  return true;
}

// From the client to the command.
void Channel::PumpIn() {
  std::array<char, kChunk> buffer;
  for (std::size_t moved = 0; moved < kPerTurn;) {
    if (pending_.empty() && !in_ended_) {
      const int got = ssh_channel_read_nonblocking(channel_, buffer.data(), buffer.size(), 0);
      if (got > 0) pending_.assign(buffer.data(), static_cast<std::size_t>(got));
      if (got == SSH_EOF || ssh_channel_is_eof(channel_) != 0) in_ended_ = true;
    }
    if (pending_.empty()) break;
    const ssize_t took = ::write(in_.get(), pending_.data(), pending_.size());
    if (took < 0) {
      if (errno == EAGAIN || errno == EINTR) break;
      // It listens no more; what still comes is dropped with the channel.
      pending_.clear();
      in_.Close();
      return;
    }
    pending_.erase(0, static_cast<std::size_t>(took));
    moved += static_cast<std::size_t>(took);
    // What libssh has read already wakes nobody.
    if (moved >= kPerTurn) home_.Ready();
  }
  if (in_ended_ && pending_.empty()) {
    if (forwarded_) ::shutdown(in_.get(), SHUT_WR);
    // A terminal stays: what its command says still comes through it.
    in_.Close();
    return;
  }
  in_.Watch(home_.epoll(), pending_.empty() ? 0U : std::uint32_t{EPOLLOUT}, &home_);
}

void Channel::PumpAnswer() {
  const std::string& text = answer_->text;
  std::string chunk;
  while (answered_ < answer_->size) {
    const std::uint64_t left = answer_->size - answered_;
    const std::size_t room = std::min<std::uint64_t>({left, WritableBytes(), kChunk});
    if (room == 0) return;
    chunk.clear();
    for (std::size_t at = answered_ % text.size(); chunk.size() < room; at = 0) {
      chunk.append(text, at, room - chunk.size());
    }
    const int sent = ssh_channel_write(channel_, chunk.data(), static_cast<std::uint32_t>(room));
    if (sent <= 0) return;
    answered_ += static_cast<std::uint64_t>(sent);
  }
  answer_.reset();
  SendEnding({.id = id_, .exit_code = 0, .signal = 0});
}

// From the command to the client.
void Channel::PumpOut(Descriptor& from, bool is_stderr) {
  if (!from.open()) return;
  std::array<char, kChunk> buffer;
  for (std::size_t moved = 0; moved < kPerTurn;) {
    const std::size_t room = std::min(WritableBytes(), buffer.size());
    if (room == 0) {
      from.Watch(home_.epoll(), 0, &home_);
      return;
    }
    const ssize_t got = ::read(from.get(), buffer.data(), room);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) {  // a terminal ends with EIO
      from.Close();
      return;
    }
    const auto size = static_cast<std::uint32_t>(got);
    const int sent = is_stderr ? ssh_channel_write_stderr(channel_, buffer.data(), size)
                               : ssh_channel_write(channel_, buffer.data(), size);
    if (sent < got) {
      over_ = true;  // the connection is broken, since there was room
      return;
    }
    moved += static_cast<std::size_t>(got);
  }
  from.Watch(home_.epoll(), EPOLLIN, &home_);
}

void Channel::Ended(const Ending& ending) {
  running_ = false;
  // A terminal's other end may be held by a background process; sshd closes it all the same.
  if (terminal_) {
    PumpOut(out_, false);
    out_.Close();
  }
  in_.Close();
  SendEnding(ending);
}

void Channel::SendEnding(const Ending& ending) {
  if (ending.signal != 0) {
    ssh_channel_request_send_exit_signal(channel_, NameOf(ending.signal).c_str(), 0, "", "");
  } else {
    ssh_channel_request_send_exit_status(channel_, ending.exit_code);
  }
}

}  // namespace podctl::emulator
