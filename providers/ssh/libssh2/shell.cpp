#include "providers/ssh/libssh2/shell.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "providers/os/descriptor.h"
#include "providers/ssh/libssh2/remote_command.h"

namespace podctl::ssh {
namespace {

constexpr std::size_t kTerminalChunk = std::size_t{32} * 1024;
constexpr std::size_t kMaxPending = std::size_t{64} * 1024;  // bytes waiting for one local stream
constexpr int kTerminalStallMs = 1'000;
// A terminal or pipe that poll calls writable takes at least this much at once (PIPE_BUF).
constexpr std::size_t kWriteAtOnce = 4096;

// Bytes on their way to a local stream.
struct OutputFilter {
  int fd;
  std::string pending;
  bool unheard = false;  // its reader went away

  bool HasCapacity() const { return pending.size() < kMaxPending; }
  void Flush() {  // after poll said writable
    const ssize_t size = write(fd, pending.data(), std::min(pending.size(), kWriteAtOnce));
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    unheard = unheard || (size < 0 && errno == EPIPE);
    // What cannot be written must not keep the remote side waiting.
    pending.erase(0, size < 0 ? pending.size() : static_cast<std::size_t>(size));
  }
};

// The command's input and output, and whatever else this thread has to wait for.
class Shell final : public OutputSink, public InputFeed {
 public:
  Shell(Session& session, const ShellOptions& options, Terminal& terminal, const Wakeup& wakeup,
        std::stop_token stop)
      : session_(session),
        terminal_(terminal),
        wakeup_(wakeup),
        stop_(std::move(stop)),
        request_{options.tty, options.term, terminal.Size()},
        out_{terminal.output(), {}, false},
        err_{terminal.error(), {}, false} {
    what_.command = options.command;
    what_.feed = this;
  }

  // Fills in how it ended.
  void Run(WorkerResult& result);

  void OnData(std::size_t, Stream stream, std::string_view bytes) override {
    (stream == Stream::kOut ? out_ : err_).pending += bytes;
  }
  bool Full(std::size_t) override { return !out_.HasCapacity() || !err_.HasCapacity(); }
  std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size) override {
    input_.erase(0, offset - std::exchange(input_begin_, offset));
    return input_.copy(bytes, size);
  }
  bool EndsAt(std::uint64_t offset) override {
    return input_ended_ && offset == input_begin_ + input_.size();
  }
  void Listen(std::function<void()>) override {}

 private:
  void ReadInput();
  void Wait();
  void FlushAll();

  Session& session_;
  Terminal& terminal_;
  const Wakeup& wakeup_;
  const std::stop_token stop_;
  Job what_;
  TerminalRequest request_;
  RemoteCommand command_{session_, what_, 0, *this, &request_};
  std::string input_;  // from input_begin_ on
  std::uint64_t input_begin_ = 0;
  bool input_ended_ = false;
  OutputFilter out_;
  OutputFilter err_;
};

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
  const short remote = command_.events();
  // A negative descriptor is skipped: nothing, not even a hang-up, is wanted from it now.
  enum { kRemote, kInput, kOut, kErr, kResized, kWake };
  pollfd fds[] = {
      {remote == 0 ? -1 : session_.fd(), remote, 0},
      {command_.hungry() && !input_ended_ ? terminal_.input() : -1, POLLIN, 0},
      {out_.pending.empty() ? -1 : out_.fd, POLLOUT, 0},
      {err_.pending.empty() ? -1 : err_.fd, POLLOUT, 0},
      {request_.tty ? terminal_.resized() : -1, POLLIN, 0},
      {wakeup_.fd(), POLLIN, 0},
  };
  if (poll(fds, std::size(fds), command_.wants_step() ? 0 : kTerminalStallMs) <= 0) return;
  if (fds[kInput].revents != 0) ReadInput();
  if (fds[kOut].revents != 0) out_.Flush();
  if (fds[kErr].revents != 0) err_.Flush();
  if (fds[kResized].revents != 0) {
    terminal_.SilenceResize();
    const WindowSize now = terminal_.Size();
    if (std::exchange(request_.size, now) != now) command_.Resize(now);
  }
}

// What the remote side said last is shown as long as somebody takes it.
void Shell::FlushAll() {
  for (OutputFilter* outlet : {&out_, &err_}) {
    while (!outlet->pending.empty() && !stop_.stop_requested()) {
      pollfd fds[] = {{outlet->fd, POLLOUT, 0}, {wakeup_.fd(), POLLIN, 0}};
      if (poll(fds, 2, 5 * kTerminalStallMs) <= 0) break;
      if (fds[0].revents != 0) outlet->Flush();
    }
  }
}

void Shell::Run(WorkerResult& result) {
  using Event = RemoteCommand::Event;
  Event event = Event::kGoingOn;
  // Without a reader the remote side ends as a local command would: `podctl ssh POD -- yes | head`.
  while (!stop_.stop_requested() && !out_.unheard && (event = command_.Step()) == Event::kGoingOn) {
    Wait();
  }
  FlushAll();
  if (event == Event::kExited) return command_.ReadExit(result);
  if (stop_.stop_requested() || out_.unheard) {
    result.outcome = Outcome::kCancelled;
    result.message = out_.unheard ? "nobody reads the output any more" : "cancelled";
  } else if (!command_.running()) {
    result.outcome = Outcome::kUnreachable;
    result.message = fmt::format("the worker starts no {}: {}",
                                 what_.command.empty() ? "shell" : "command", session_.LastError());
  } else {
    result.outcome = Outcome::kLost;
    result.message = fmt::format("the connection broke: {}", session_.LastError());
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
