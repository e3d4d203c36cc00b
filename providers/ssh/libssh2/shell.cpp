#include "providers/ssh/libssh2/shell.h"

#include <fmt/format.h>
#include <libssh2.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "providers/os/descriptor.h"
#include "providers/ssh/libssh2/session.h"

namespace podctl::ssh {
namespace {

constexpr std::size_t kTerminalChunk = std::size_t{32} * 1024;
constexpr std::size_t kMaxPending = std::size_t{64} * 1024;  // bytes waiting for one local stream
constexpr unsigned kTerminalWindow = 1024 * 1024;
constexpr int kTerminalStallMs = 1'000;
// A terminal or pipe that poll calls writable takes at least this much at once (PIPE_BUF).
constexpr std::size_t kWriteAtOnce = 4096;

// Bytes on their way to a local stream.
struct Outlet {
  int fd;
  std::string pending;
  bool unheard = false;  // its reader went away

  bool HasRoom() const { return pending.size() < kMaxPending; }
  void Flush() {  // after poll said writable
    const ssize_t size = write(fd, pending.data(), std::min(pending.size(), kWriteAtOnce));
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    unheard = unheard || (size < 0 && errno == EPIPE);
    // What cannot be written must not keep the remote side waiting.
    pending.erase(0, size < 0 ? pending.size() : static_cast<std::size_t>(size));
  }
};

class Shell {
 public:
  Shell(Session& session, const ShellOptions& options, Terminal& terminal, const Wakeup& wakeup,
        std::stop_token stop)
      : session_(session),
        options_(options),
        terminal_(terminal),
        wakeup_(wakeup),
        stop_(std::move(stop)),
        out_{terminal.output(), {}, false},
        err_{terminal.error(), {}, false} {}

  // Fills in how it ended.
  void Run(WorkerResult& result);

 private:
  // The call that left a packet half sent; it must be repeated before any other.
  enum class Call { kNone, kWrite, kEof, kReadOut, kReadErr, kResize };

  bool Await(const std::function<int()>& call);
  bool Open();
  bool Pump();
  bool Do(Call call);
  bool Read(int stream, Outlet& outlet, Call call);
  void ReadInput();
  void Wait();
  void FlushAll();

  Session& session_;
  const ShellOptions& options_;
  Terminal& terminal_;
  const Wakeup& wakeup_;
  const std::stop_token stop_;
  LIBSSH2_CHANNEL* channel_ = nullptr;  // freed with the session
  Call half_ = Call::kNone;
  std::string input_;
  bool input_ended_ = false;
  bool eof_sent_ = false;
  WindowSize size_;
  bool size_changed_ = false;
  bool closed_ = false;
  bool progress_ = false;
  Outlet out_;
  Outlet err_;
};

// Repeats `call` until it does not ask to wait; false when it failed or stop was requested.
bool Shell::Await(const std::function<int()>& call) {
  while (!stop_.stop_requested()) {
    const int code = call();
    if (code != LIBSSH2_ERROR_EAGAIN) return code == 0;
    pollfd fds[] = {{session_.fd(), session_.WaitsFor(), 0}, {wakeup_.fd(), POLLIN, 0}};
    poll(fds, 2, kTerminalStallMs);
  }
  return false;
}

bool Shell::Open() {
  const bool opened = Await([this] {
    channel_ = libssh2_channel_open_ex(session_.handle(), "session", std::strlen("session"),
                                       kTerminalWindow, kTerminalChunk, nullptr, 0);
    return channel_ != nullptr ? 0 : libssh2_session_last_errno(session_.handle());
  });
  if (!opened) return false;
  size_ = terminal_.Size();
  if (options_.tty && !Await([this] {
        return libssh2_channel_request_pty_ex(channel_, options_.term.c_str(),
                                              static_cast<unsigned>(options_.term.size()), nullptr,
                                              0, size_.columns, size_.rows, 0, 0);
      })) {
    return false;
  }
  return Await([this] {
    if (options_.command.empty()) {
      return libssh2_channel_process_startup(channel_, "shell", std::strlen("shell"), nullptr, 0);
    }
    return libssh2_channel_process_startup(channel_, "exec", std::strlen("exec"),
                                           options_.command.data(),
                                           static_cast<unsigned>(options_.command.size()));
  });
}

// One call on the channel; false when the connection is broken.
bool Shell::Do(Call call) {
  half_ = Call::kNone;
  ssize_t code = 0;
  switch (call) {
    case Call::kNone:
      return true;
    case Call::kReadOut:
      return Read(0, out_, call);
    case Call::kReadErr:
      return Read(SSH_EXTENDED_DATA_STDERR, err_, call);
    case Call::kWrite:
      code = libssh2_channel_write_ex(channel_, 0, input_.data(), input_.size());
      if (code > 0) {
        input_.erase(0, static_cast<std::size_t>(code));
        progress_ = true;
      }
      break;
    case Call::kEof:
      code = libssh2_channel_send_eof(channel_);
      eof_sent_ = code != LIBSSH2_ERROR_EAGAIN;
      break;
    case Call::kResize:
      code = libssh2_channel_request_pty_size_ex(channel_, size_.columns, size_.rows, 0, 0);
      size_changed_ = code == LIBSSH2_ERROR_EAGAIN;
      break;
  }
  if (code == LIBSSH2_ERROR_EAGAIN && (session_.WaitsFor() & POLLOUT) != 0) half_ = call;
  // What the remote side no longer takes is no trouble once it has ended.
  return code >= 0 || code == LIBSSH2_ERROR_EAGAIN || libssh2_channel_eof(channel_) != 0;
}

bool Shell::Read(int stream, Outlet& outlet, Call call) {
  std::array<char, kTerminalChunk> buffer;
  const ssize_t size = libssh2_channel_read_ex(channel_, stream, buffer.data(), buffer.size());
  if (size == LIBSSH2_ERROR_EAGAIN) {
    if ((session_.WaitsFor() & POLLOUT) != 0) half_ = call;
    return true;
  }
  if (size < 0) return false;
  outlet.pending.append(buffer.data(), static_cast<std::size_t>(size));
  progress_ = progress_ || size > 0;
  return true;
}

// Everything that can be done on the channel without waiting; false when the connection is broken.
bool Shell::Pump() {
  for (int round = 0; round < 64; ++round) {
    progress_ = false;
    if (half_ != Call::kNone && !Do(half_)) return false;
    if (half_ != Call::kNone) return true;
    std::array<Call, 5> calls{};
    if (out_.HasRoom()) calls[0] = Call::kReadOut;
    if (err_.HasRoom()) calls[1] = Call::kReadErr;
    if (!input_.empty()) calls[2] = Call::kWrite;
    if (input_.empty() && input_ended_ && !eof_sent_) calls[3] = Call::kEof;
    if (size_changed_) calls[4] = Call::kResize;
    for (const Call call : calls) {
      if (!Do(call)) return false;
      if (half_ != Call::kNone) return true;
    }
    // Reading one stream can queue packets of the other, for which the socket does not wake us.
    const bool queued = libssh2_poll_channel_read(channel_, 1) > 0;
    if (!queued && libssh2_channel_eof(channel_) != 0) {
      const int code = libssh2_channel_wait_closed(channel_);
      closed_ = code == 0;
      return closed_ || code == LIBSSH2_ERROR_EAGAIN;
    }
    if (!progress_ || !out_.HasRoom() || !err_.HasRoom()) return true;
  }
  return true;
}

void Shell::ReadInput() {
  std::array<char, kTerminalChunk> buffer;
  const ssize_t size = read(terminal_.input(), buffer.data(), buffer.size());
  if (size > 0) {
    input_.append(buffer.data(), static_cast<std::size_t>(size));
  } else if (size == 0 || (errno != EINTR && errno != EAGAIN)) {
    input_ended_ = true;
  }
}

void Shell::Wait() {
  const bool half = half_ != Call::kNone;
  const bool room = out_.HasRoom() && err_.HasRoom();
  const short remote = half ? session_.WaitsFor() : static_cast<short>(POLLIN);
  // A negative descriptor is skipped: nothing, not even a hang-up, is wanted from it now.
  enum { kRemote, kInput, kOut, kErr, kResized, kWake };
  pollfd fds[] = {
      {half || room ? session_.fd() : -1, remote, 0},
      {input_.empty() && !input_ended_ && !half ? terminal_.input() : -1, POLLIN, 0},
      {out_.pending.empty() ? -1 : out_.fd, POLLOUT, 0},
      {err_.pending.empty() ? -1 : err_.fd, POLLOUT, 0},
      {options_.tty && !half ? terminal_.resized() : -1, POLLIN, 0},
      {wakeup_.fd(), POLLIN, 0},
  };
  if (poll(fds, std::size(fds), kTerminalStallMs) <= 0) return;
  if (fds[kInput].revents != 0) ReadInput();
  if (fds[kOut].revents != 0) out_.Flush();
  if (fds[kErr].revents != 0) err_.Flush();
  if (fds[kResized].revents != 0) {
    terminal_.SilenceResize();
    const WindowSize now = terminal_.Size();
    size_changed_ = size_changed_ || now != size_;
    size_ = now;
  }
}

// What the remote side said last is shown as long as somebody takes it.
void Shell::FlushAll() {
  for (Outlet* outlet : {&out_, &err_}) {
    while (!outlet->pending.empty() && !stop_.stop_requested()) {
      pollfd fds[] = {{outlet->fd, POLLOUT, 0}, {wakeup_.fd(), POLLIN, 0}};
      if (poll(fds, 2, 5 * kTerminalStallMs) <= 0) break;
      if (fds[0].revents != 0) outlet->Flush();
    }
  }
}

void Shell::Run(WorkerResult& result) {
  result.outcome = Outcome::kLost;
  if (!Open()) {
    result.outcome = Outcome::kUnreachable;
    result.message =
        fmt::format("the worker starts no {}: {}", options_.command.empty() ? "shell" : "command",
                    session_.LastError());
  } else {
    // Without a reader the remote side ends as a local command would: `podctl ssh POD -- yes |
    // head`.
    while (!stop_.stop_requested() && !out_.unheard && Pump() && !closed_) Wait();
    FlushAll();
    if (out_.unheard && !closed_) {
      result.outcome = Outcome::kCancelled;
      result.message = "nobody reads the output any more";
    } else if (closed_) {
      ReadExitStatus(session_, channel_, result);
    } else {
      result.message = fmt::format("the connection broke: {}", session_.LastError());
    }
  }
  if (stop_.stop_requested() && !closed_) {
    result.outcome = Outcome::kCancelled;
    result.message = "cancelled";
  }
}

}  // namespace

WorkerResult RunShell(const WorkerAccess& worker,
                      const std::shared_ptr<const Identities>& identities,
                      const ShellOptions& options, Terminal& terminal, Clock& clock, Random& random,
                      const std::stop_token& stop) {
  WorkerResult result;
  const auto on_trouble = [&](const Cause& why) {
    ++result.attempts;
    if (options.on_trouble) options.on_trouble(FullWords(why));
  };
  Verdict why;
  const auto session =
      Dial(worker, identities, options.limits, clock, random, on_trouble, stop, why);
  ++result.attempts;
  if (session == nullptr) {
    result.End(why.outcome, std::move(why.cause));
    return result;
  }
  result.learned_host_key = session->learned_host_key();
  const Wakeup wakeup;
  const std::stop_callback ring(stop, [&wakeup] { wakeup.Ring(); });
  if (options.tty) {
    if (const Result<void> raw = terminal.EnterRaw(); !raw) {
      result.outcome = Outcome::kUnreachable;
      result.message = raw.error().message;
      return result;
    }
  }
  Shell(*session, options, terminal, wakeup, stop).Run(result);
  terminal.Restore();
  return result;
}

}  // namespace podctl::ssh
