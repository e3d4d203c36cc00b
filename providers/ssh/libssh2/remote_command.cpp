#include "providers/ssh/libssh2/remote_command.h"

#include <libssh2.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "providers/base/ending_text.h"

namespace podctl::ssh {
namespace {

constexpr unsigned kTerminationWindow = 32 * 1024;      // it says a line
constexpr unsigned kPacket = 32 * 1024;                 // RFC 4253 section 6.1
constexpr std::size_t kChunk = std::size_t{32} * 1024;  // bytes a call reads or writes
constexpr std::size_t kPerStep =
    std::size_t{256} * 1024;  // bytes before the next connection has its turn

}  // namespace

RemoteCommand::Event RemoteCommand::Step() {
  wants_step_ = false;
  paused_ = false;
  hungry_ = false;
  if (task_ == Task::kOpenChannel) {
    if (const Event event = OpenChannel(); event != Event::kGoingOn) return event;
  }
  if (task_ == Task::kTerminal) {
    if (const Event event = AskForTerminal(); event != Event::kGoingOn) return event;
  }
  if (task_ == Task::kStart) {
    if (const Event event = Start(); event != Event::kGoingOn) return event;
  }
  return task_ == Task::kPump ? Pump() : Event::kGoingOn;
}

RemoteCommand::Event RemoteCommand::OpenChannel() {
  channel_ = libssh2_channel_open_ex(session_.handle(), "session", std::strlen("session"),
                                     sink_.SendAhead(), kPacket, nullptr, 0);
  if (channel_ != nullptr) {
    task_ = terminal_ != nullptr && terminal_->tty ? Task::kTerminal : Task::kStart;
    session_.hooks().ForgetExitStatus();
    return Event::kGoingOn;
  }
  const bool waits = libssh2_session_last_errno(session_.handle()) == LIBSSH2_ERROR_EAGAIN;
  return waits ? Event::kGoingOn : Event::kNoChannel;
}

RemoteCommand::Event RemoteCommand::AskForTerminal() {
  const int code = libssh2_channel_request_pty_ex(
      channel_, terminal_->term.data(), static_cast<unsigned>(terminal_->term.size()), nullptr, 0,
      terminal_->size.columns, terminal_->size.rows, 0, 0);
  if (code == LIBSSH2_ERROR_EAGAIN) return Event::kGoingOn;
  if (code != 0) return Event::kDenied;
  task_ = Task::kStart;
  return Event::kGoingOn;
}

RemoteCommand::Event RemoteCommand::Start() {
  const bool shell = terminal_ != nullptr && what_.command.empty();
  const std::string_view what = shell ? "shell" : "exec";
  const int code = libssh2_channel_process_startup(
      channel_, what.data(), static_cast<unsigned>(what.size()),
      shell ? nullptr : what_.command.data(), static_cast<unsigned>(what_.command.size()));
  if (code == LIBSSH2_ERROR_EAGAIN) return Event::kGoingOn;
  if (code == LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED) return Event::kDenied;
  if (code != 0) return Event::kBroken;
  task_ = Task::kPump;
  return Event::kGoingOn;
}

// Remembers which call must be repeated first. libssh2 answers any other call with an error while a
// packet is half sent.
void RemoteCommand::Waits(PendingCall pending_call) {
  if ((session_.WaitsFor() & POLLOUT) != 0) pending_call_ = pending_call;
}

RemoteCommand::Event RemoteCommand::Pump() {
  const bool on = (pending_call_ == PendingCall::kNone || RepeatPendingCall()) &&
                  (termination_ == Termination::kNone || StepTermination()) && Drain();
  if (broken_) return Event::kBroken;
  if (!on) return Event::kGoingOn;
  if (!closed_ && libssh2_channel_eof(channel_) != 0) {
    const int code = libssh2_channel_wait_closed(channel_);
    if (code != 0 && code != LIBSSH2_ERROR_EAGAIN) return Event::kBroken;
    closed_ = code == 0;
  }
  if (closed_) {
    // What it has left behind is still being ended.
    const bool over = termination_ == Termination::kNone || termination_ == Termination::kOver;
    return over ? Event::kExited : Event::kGoingOn;
  }
  if (FeedInput() && new_size_) SendSize();
  return broken_ ? Event::kBroken : Event::kGoingOn;
}

// Repeats the call that left a packet half sent.
bool RemoteCommand::RepeatPendingCall() {
  const PendingCall pending_call = std::exchange(pending_call_, PendingCall::kNone);
  std::size_t got = 0;
  switch (pending_call) {
    case PendingCall::kNone:
      return true;
    case PendingCall::kWrite:
      return Write() && pending_call_ == PendingCall::kNone;
    case PendingCall::kEof:
      return SendEof() && pending_call_ == PendingCall::kNone;
    case PendingCall::kReadOut:
      return Read(Stream::kOut, got) && pending_call_ == PendingCall::kNone;
    case PendingCall::kReadErr:
      return Read(Stream::kErr, got) && pending_call_ == PendingCall::kNone;
    case PendingCall::kResize:
      return SendSize() && pending_call_ == PendingCall::kNone;
    case PendingCall::kTermination:
      return StepTermination() && pending_call_ == PendingCall::kNone;
  }
  return true;
}

bool RemoteCommand::Read(Stream stream, std::size_t& got) {
  static thread_local std::array<char, kChunk> buffer;
  const ssize_t size =
      libssh2_channel_read_ex(channel_, stream == Stream::kOut ? 0 : SSH_EXTENDED_DATA_STDERR,
                              buffer.data(), buffer.size());
  if (size == LIBSSH2_ERROR_EAGAIN) {
    Waits(stream == Stream::kOut ? PendingCall::kReadOut : PendingCall::kReadErr);
    return pending_call_ == PendingCall::kNone;
  }
  if (size < 0) {
    broken_ = true;
    return false;
  }
  got += static_cast<std::size_t>(size);
  (stream == Stream::kOut ? bytes_out_ : bytes_err_) += static_cast<std::uint64_t>(size);
  if (size > 0) {
    sink_.OnData(job_, stream, std::string_view(buffer.data(), static_cast<std::size_t>(size)));
  }
  return true;
}

// Takes what there is. Reading one stream can pull packets of the other off the socket into
// libssh2's queue; the socket then never becomes readable for them. So both are read until both are
// empty and the queue is too.
bool RemoteCommand::Drain() {
  if (closed_) return true;
  std::size_t total = 0;
  int idle_rounds = 0;
  while (idle_rounds < 2) {
    if (sink_.Full(job_)) {
      paused_ = true;
      return true;
    }
    if (total >= kPerStep) {
      wants_step_ = true;
      return true;
    }
    std::size_t got = 0;
    if (!Read(Stream::kOut, got) || !Read(Stream::kErr, got)) return false;
    total += got;
    if (got > 0) {
      idle_rounds = 0;
    } else if (libssh2_poll_channel_read(channel_, 1) > 0) {
      ++idle_rounds;  // bounded: a stream that is neither stays in the queue for ever
    } else {
      break;
    }
  }
  return true;
}

bool RemoteCommand::InputEnded() const {
  const std::uint64_t own = what_.input == nullptr ? 0 : what_.input->size();
  if (input_sent_ < own) return false;
  return what_.feed == nullptr || what_.feed->EndsAt(input_sent_ - own);
}

// What is to be sent next; empty when the feed has nothing yet. Asked again it is the same, or more
// of it.
std::string_view RemoteCommand::NextInput() const {
  static thread_local std::array<char, kChunk> buffer;
  const std::uint64_t own = what_.input == nullptr ? 0 : what_.input->size();
  if (input_sent_ < own) {
    return std::string_view(*what_.input).substr(static_cast<std::size_t>(input_sent_), kChunk);
  }
  if (what_.feed == nullptr) return {};
  return {buffer.data(), what_.feed->Read(input_sent_ - own, buffer.data(), buffer.size())};
}

bool RemoteCommand::FeedInput() {
  const std::uint64_t stop_at = input_sent_ + kPerStep;
  while (!eof_sent_) {
    if (InputEnded()) return SendEof();
    if (input_sent_ >= stop_at) {
      wants_step_ = true;
      return true;
    }
    const std::uint64_t before = input_sent_;
    if (!Write()) return false;
    if (input_sent_ == before) return true;
  }
  return true;
}

bool RemoteCommand::Write() {
  const std::string_view bytes = NextInput();
  if (bytes.empty()) {
    hungry_ = true;
    return true;
  }
  const ssize_t sent = libssh2_channel_write_ex(channel_, 0, bytes.data(), bytes.size());
  if (sent == LIBSSH2_ERROR_EAGAIN) {
    Waits(PendingCall::kWrite);
    return pending_call_ == PendingCall::kNone;
  }
  if (sent < 0) {
    // A command that ended without reading all of its input is no trouble of the connection.
    if (libssh2_channel_eof(channel_) != 0) return true;
    broken_ = true;
    return false;
  }
  input_sent_ += static_cast<std::uint64_t>(sent);
  return true;
}

bool RemoteCommand::SendEof() {
  const int code = libssh2_channel_send_eof(channel_);
  if (code == LIBSSH2_ERROR_EAGAIN) {
    pending_call_ = PendingCall::kEof;
    return false;
  }
  eof_sent_ = true;  // an error shows at the next read as well
  return true;
}

bool RemoteCommand::SendSize() {
  const int code =
      libssh2_channel_request_pty_size_ex(channel_, new_size_->columns, new_size_->rows, 0, 0);
  if (code == LIBSSH2_ERROR_EAGAIN) {
    pending_call_ = PendingCall::kResize;
    return false;
  }
  new_size_.reset();  // an error shows at the next read as well
  return true;
}

void RemoteCommand::AskToEnd(const std::string& text) {
  termination_ = Termination::kOpenChannel;
  termination_command_ = text;
  wants_step_ = true;
}

bool RemoteCommand::StepTermination() {
  if (termination_ == Termination::kOpenChannel) {
    termination_channel_ =
        libssh2_channel_open_ex(session_.handle(), "session", std::strlen("session"),
                                kTerminationWindow, kPacket, nullptr, 0);
    if (termination_channel_ == nullptr &&
        libssh2_session_last_errno(session_.handle()) == LIBSSH2_ERROR_EAGAIN) {
      Waits(PendingCall::kTermination);
      return pending_call_ == PendingCall::kNone;
    }
    termination_ = termination_channel_ == nullptr ? Termination::kOver : Termination::kStart;
  }
  if (termination_ == Termination::kStart) {
    const int code = libssh2_channel_process_startup(
        termination_channel_, "exec", std::strlen("exec"), termination_command_.data(),
        static_cast<unsigned>(termination_command_.size()));
    if (code == LIBSSH2_ERROR_EAGAIN) {
      Waits(PendingCall::kTermination);
      return pending_call_ == PendingCall::kNone;
    }
    termination_ = code == 0 ? Termination::kWait : Termination::kOver;
  }
  return termination_ != Termination::kWait || ReadTermination();
}

// Its exit code is what tells; that comes before the channel is closed.
bool RemoteCommand::ReadTermination() {
  std::array<char, 512> nothing{};
  ssize_t size = 0;
  do {
    size = libssh2_channel_read_ex(termination_channel_, 0, nothing.data(), nothing.size());
    termination_began_ = termination_began_ || size > 0;
  } while (size > 0);
  int code = size < 0 ? static_cast<int>(size) : 0;
  if (size == 0 && libssh2_channel_eof(termination_channel_) != 0) {
    code = libssh2_channel_wait_closed(termination_channel_);
    if (code == 0) {
      has_ended_ = EndedByCode(libssh2_channel_get_exit_status(termination_channel_));
      termination_ = Termination::kOver;
      return true;
    }
  }
  if (code == LIBSSH2_ERROR_EAGAIN) {
    Waits(PendingCall::kTermination);
    return pending_call_ == PendingCall::kNone;
  }
  if (code < 0) termination_ = Termination::kOver;
  return true;
}

short RemoteCommand::events() const {
  if (task_ != Task::kPump || pending_call_ != PendingCall::kNone) return session_.WaitsFor();
  return paused_ && termination_ == Termination::kNone ? 0 : POLLIN;
}

void RemoteCommand::ReadExit(WorkerResult& result) const {
  ReadExitStatus(session_, channel_, result);
}

void RemoteCommand::CountBytes(WorkerResult& result) const {
  result.bytes_out = bytes_out_;
  result.bytes_err = bytes_err_;
}

}  // namespace podctl::ssh
