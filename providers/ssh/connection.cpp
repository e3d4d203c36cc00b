#include "providers/ssh/connection.h"

#include <fmt/format.h>
#include <libssh2.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "providers/base/text.h"
#include "providers/ssh/exit_status.h"
#include "providers/ssh/opening.h"

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kWindow = 256 * 1024;                // bytes a silent reader lets a worker send
constexpr unsigned kPacket = 32 * 1024;                 // RFC 4253 section 6.1
constexpr std::size_t kChunk = std::size_t{32} * 1024;  // bytes a call reads or writes
constexpr std::size_t kPerStep =
    std::size_t{256} * 1024;           // bytes before the next connection has its turn
constexpr milliseconds kStall{1'000};  // step at least so often, whatever the socket says
constexpr milliseconds kFarewellGrace{1'500};

// Asks the remote command to end: run on a second channel of the same connection, where its parent
// is the same sshd, so the other children of that sshd are what we started. (libssh2 before 1.11
// cannot send RFC 4254's "signal"; and closing a connection leaves a command without a terminal
// running.) sshd makes each command a process group of its own.
constexpr const char* kEndSiblings =
    "exec /bin/sh -c 'for s in /proc/[0-9]*/stat; do "
    "{ read -r l <\"$s\"; } 2>/dev/null || continue; "
    "q=${s#/proc/}; q=${q%/stat}; r=${l##*) }; set -- $r; "
    "[ \"$2\" = \"$PPID\" ] && [ \"$q\" != $$ ] || continue; "
    "{ kill -s TERM -- -\"$q\" || kill -s TERM \"$q\" || sudo -n kill -s TERM -- -\"$q\"; } "
    "2>/dev/null; "
    "done'";

}  // namespace

Connection::Connection(std::size_t index, const Job& job, const Limits& limits,
                       const Endpoint& endpoint, std::shared_ptr<const Identities> identities,
                       Time run_start, Random& random, ConnectionSink& sink)
    : index_(index),
      job_(job),
      limits_(limits),
      endpoint_(endpoint),
      identities_(std::move(identities)),
      sink_(sink),
      backoff_(random),
      run_start_(run_start) {}

Connection::~Connection() = default;

void Connection::SetPhase(Phase phase) {
  if (phase == phase_) return;
  phase_ = phase;
  sink_.OnPhase(index_, phase);
}

void Connection::Begin(Time now) {
  PODCTL_CHECK(state_ == State::kWaiting);
  if (first_try_ == kNever) first_try_ = now;
  ++result_.attempts;
  session_ = std::make_unique<Session>(job_.worker, endpoint_, identities_);
  channel_ = nullptr;
  task_ = Task::kOpenChannel;
  half_ = Half::kNone;
  state_ = State::kOpening;
  deadline_ = now + limits_.connect;
  SetPhase(Phase::kConnecting);
  Step(now);
}

void Connection::Refuse(Outcome outcome, std::string message, Time now) {
  if (state_ == State::kWaiting || state_ == State::kOpening) {
    Finish(outcome, std::move(message), now);
  }
}

void Connection::Step(Time now) {
  if (state_ == State::kDone || state_ == State::kWaiting) return;
  wants_step_ = false;
  paused_ = false;
  if (session_->stage() != Session::Stage::kReady) StepOpening(now);
  if (session_ != nullptr && session_->stage() == Session::Stage::kReady) StepChannel(now);
  if (session_ != nullptr) CheckTimers(now);
  timer_ = state_ == State::kRunning ? std::min(deadline_, now + kStall) : deadline_;
  if (state_ == State::kDone || state_ == State::kWaiting) timer_ = kNever;
}

void Connection::StepOpening(Time now) {
  const Session::Stage before = session_->stage();
  const Session::Stage stage = session_->Advance();
  if (stage != before && stage != Session::Stage::kFailed) {
    // Opening the channel is as long as logging in was.
    deadline_ =
        now + StageLimit(stage == Session::Stage::kReady ? Session::Stage::kAuthenticating : stage,
                         limits_);
    SetPhase(Phase::kAuthenticating);
  }
  if (session_->learned_host_key().has_value()) {
    result_.learned_host_key = session_->learned_host_key();
  }
  if (stage != Session::Stage::kFailed) return;
  std::string message = session_->message();
  switch (session_->trouble()) {
    case Session::Trouble::kConnection:
    case Session::Trouble::kLocal:
      TroubleBeforeCommand(Outcome::kUnreachable, std::move(message), now, true);
      break;
    case Session::Trouble::kAuth:  // a key just published may not have reached the guest
      TroubleBeforeCommand(Outcome::kAuthRefused, std::move(message), now, true);
      break;
    case Session::Trouble::kUnknownHost:
      TroubleBeforeCommand(Outcome::kUnreachable, std::move(message), now, false);
      break;
    case Session::Trouble::kHostKey:
      TroubleBeforeCommand(Outcome::kHostKeyChanged, std::move(message), now, false);
      break;
  }
}

void Connection::StepChannel(Time now) {
  if (task_ == Task::kOpenChannel && !OpenChannel(now)) return;
  if (task_ == Task::kStart && !Start(now)) return;
  if (task_ == Task::kPump) Pump(now);
}

bool Connection::OpenChannel(Time now) {
  channel_ = libssh2_channel_open_ex(session_->handle(), "session", std::strlen("session"), kWindow,
                                     kPacket, nullptr, 0);
  if (channel_ == nullptr) {
    if (libssh2_session_last_errno(session_->handle()) == LIBSSH2_ERROR_EAGAIN) return false;
    TroubleBeforeCommand(
        Outcome::kUnreachable,
        fmt::format("{} opens no channel: {}", job_.worker.Name(), session_->LastError()), now,
        true);
    return false;
  }
  task_ = Task::kStart;
  return true;
}

bool Connection::Start(Time now) {
  if (state_ != State::kRunning) {
    // From here on the command may have run, whatever happens.
    state_ = State::kRunning;
    sent_at_ = now;
    deadline_ = now + limits_.auth;
    command_deadline_ = limits_.command.count() > 0 ? now + limits_.command : kNever;
    SetPhase(Phase::kRunning);
  }
  const int code =
      libssh2_channel_process_startup(channel_, "exec", std::strlen("exec"), job_.command.data(),
                                      static_cast<unsigned>(job_.command.size()));
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code == LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED) {
    Finish(Outcome::kUnreachable,
           fmt::format("{} refuses to run commands over SSH", job_.worker.Name()), now);
    return false;
  }
  if (code != 0) {
    Broken(session_->LastError(), now);
    return false;
  }
  deadline_ = command_deadline_;
  task_ = Task::kPump;
  return true;
}

// Remembers which call must be repeated first. libssh2 answers any other call with an error while a
// packet is half sent.
void Connection::Waits(Half half) {
  if ((session_->WaitsFor() & POLLOUT) != 0) half_ = half;
}

void Connection::Pump(Time now) {
  if (half_ != Half::kNone && !FinishHalf(now)) return;
  if (farewell_ != Farewell::kNone && !StepFarewell()) return;
  if (!Drain(now)) return;
  if (libssh2_channel_eof(channel_) != 0) {
    const int code = libssh2_channel_wait_closed(channel_);
    if (code == 0) {
      Exited(now);
      return;
    }
    if (code != LIBSSH2_ERROR_EAGAIN) {
      Broken(session_->LastError(), now);
      return;
    }
  }
  FeedInput(now);
}

// Repeats the call that left a packet half sent; false when the step is over.
bool Connection::FinishHalf(Time now) {
  const Half half = std::exchange(half_, Half::kNone);
  std::size_t got = 0;
  switch (half) {
    case Half::kNone:
      return true;
    case Half::kWrite:
      return Write(now) && half_ == Half::kNone;
    case Half::kEof:
      return SendEof() && half_ == Half::kNone;
    case Half::kReadOut:
      return Read(Stream::kOut, got, now) && half_ == Half::kNone;
    case Half::kReadErr:
      return Read(Stream::kErr, got, now) && half_ == Half::kNone;
    case Half::kFarewell:
      return StepFarewell() && half_ == Half::kNone;
  }
  return true;
}

// Reads one chunk of one stream. False when the connection is gone or a packet is half sent.
bool Connection::Read(Stream stream, std::size_t& got, Time now) {
  static thread_local std::array<char, kChunk> buffer;
  const ssize_t size =
      libssh2_channel_read_ex(channel_, stream == Stream::kOut ? 0 : SSH_EXTENDED_DATA_STDERR,
                              buffer.data(), buffer.size());
  if (size == LIBSSH2_ERROR_EAGAIN) {
    Waits(stream == Stream::kOut ? Half::kReadOut : Half::kReadErr);
    return half_ == Half::kNone;
  }
  if (size < 0) {
    Broken(session_->LastError(), now);
    return false;
  }
  got += static_cast<std::size_t>(size);
  (stream == Stream::kOut ? result_.bytes_out : result_.bytes_err) +=
      static_cast<std::uint64_t>(size);
  if (size > 0) {
    sink_.OnData(index_, stream, std::string_view(buffer.data(), static_cast<std::size_t>(size)));
  }
  return true;
}

// Takes what there is. Reading one stream can pull packets of the other off the socket into
// libssh2's queue; the socket then never becomes readable for them. So both are read until both are
// empty and the queue is too.
bool Connection::Drain(Time now) {
  std::size_t total = 0;
  int idle_rounds = 0;
  while (idle_rounds < 2) {
    if (sink_.Full()) {
      paused_ = true;
      return true;
    }
    if (total >= kPerStep) {
      wants_step_ = true;
      return true;
    }
    std::size_t got = 0;
    if (!Read(Stream::kOut, got, now) || !Read(Stream::kErr, got, now)) return false;
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

bool Connection::FeedInput(Time now) {
  const std::size_t size = job_.input == nullptr ? 0 : job_.input->size();
  const std::size_t stop_at = input_sent_ + kPerStep;
  while (input_sent_ < size) {
    if (input_sent_ >= stop_at) {
      wants_step_ = true;
      return true;
    }
    const std::size_t before = input_sent_;
    if (!Write(now)) return false;
    if (input_sent_ == before) return true;
  }
  return eof_sent_ || SendEof();
}

bool Connection::Write(Time now) {
  const std::size_t size = std::min(kChunk, job_.input->size() - input_sent_);
  const ssize_t sent =
      libssh2_channel_write_ex(channel_, 0, job_.input->data() + input_sent_, size);
  if (sent == LIBSSH2_ERROR_EAGAIN) {
    Waits(Half::kWrite);
    return half_ == Half::kNone;
  }
  if (sent < 0) {
    // A command that ended without reading all of its input is no trouble of the connection.
    if (libssh2_channel_eof(channel_) != 0) return true;
    Broken(session_->LastError(), now);
    return false;
  }
  input_sent_ += static_cast<std::size_t>(sent);
  return true;
}

bool Connection::SendEof() {
  const int code = libssh2_channel_send_eof(channel_);
  if (code == LIBSSH2_ERROR_EAGAIN) {
    half_ = Half::kEof;
    return false;
  }
  eof_sent_ = true;  // an error shows at the next read as well
  return true;
}

bool Connection::StepFarewell() {
  if (farewell_ == Farewell::kOpenChannel) {
    farewell_channel_ = libssh2_channel_open_ex(
        session_->handle(), "session", std::strlen("session"), kWindow, kPacket, nullptr, 0);
    if (farewell_channel_ == nullptr &&
        libssh2_session_last_errno(session_->handle()) == LIBSSH2_ERROR_EAGAIN) {
      Waits(Half::kFarewell);
      return half_ == Half::kNone;
    }
    farewell_ = farewell_channel_ == nullptr ? Farewell::kWait : Farewell::kStart;
  }
  if (farewell_ == Farewell::kStart) {
    const int code = libssh2_channel_process_startup(
        farewell_channel_, "exec", std::strlen("exec"), kEndSiblings,
        static_cast<unsigned>(std::strlen(kEndSiblings)));
    if (code == LIBSSH2_ERROR_EAGAIN) {
      Waits(Half::kFarewell);
      return half_ == Half::kNone;
    }
    farewell_ = Farewell::kWait;
  }
  return true;
}

void Connection::BeginFarewell(Outcome outcome, std::string message, Time now) {
  farewell_ = Farewell::kOpenChannel;
  farewell_outcome_ = outcome;
  farewell_message_ = std::move(message);
  deadline_ = now + kFarewellGrace;
  wants_step_ = true;
}

void Connection::Cancel(Time now) {
  if (state_ == State::kDone || farewell_ != Farewell::kNone) return;
  if (state_ != State::kRunning) {
    Finish(Outcome::kCancelled, "cancelled before the command was sent", now);
  } else if (task_ != Task::kPump) {
    Finish(Outcome::kCancelled, "cancelled while the command was being sent", now);
  } else {
    BeginFarewell(Outcome::kCancelled, "cancelled; the command was asked to end", now);
    Step(now);
  }
}

void Connection::CheckTimers(Time now) {
  if (state_ == State::kDone || now < deadline_) return;
  if (farewell_ != Farewell::kNone) {
    Finish(farewell_outcome_, farewell_message_, now);
  } else if (state_ == State::kRunning && task_ == Task::kStart) {
    Finish(
        Outcome::kLost,
        fmt::format("{} did not answer the request to run the command within {}; it may have run",
                    job_.worker.Name(), FormatDuration(limits_.auth)),
        now);
  } else if (state_ == State::kRunning) {
    BeginFarewell(Outcome::kTimedOut,
                  fmt::format("the command ran longer than {}", FormatDuration(limits_.command)),
                  now);
  } else {
    TroubleBeforeCommand(Outcome::kUnreachable,
                         session_->stage() == Session::Stage::kReady
                             ? fmt::format("{} did not open a channel within {}",
                                           job_.worker.Name(), FormatDuration(limits_.auth))
                             : StageComplaint(session_->stage(), job_.worker, limits_),
                         now, true);
  }
}

void Connection::Exited(Time now) {
  if (farewell_ != Farewell::kNone) {
    Finish(farewell_outcome_, farewell_message_, now);
    return;
  }
  ReadExitStatus(session_->handle(), channel_, result_);
  Finish(result_.outcome, std::move(result_.message), now);
}

void Connection::Broken(const std::string& what, Time now) {
  if (farewell_ != Farewell::kNone) {
    Finish(farewell_outcome_, farewell_message_, now);
    return;
  }
  Finish(Outcome::kLost,
         fmt::format("the connection to {} broke after the command was sent, so it "
                     "may or may not have run: {}",
                     job_.worker.Name(), what),
         now);
}

void Connection::TroubleBeforeCommand(Outcome outcome, std::string message, Time now, bool retry) {
  Time give_up = first_try_ + limits_.retry;
  if (outcome == Outcome::kAuthRefused) {
    first_refusal_ = std::min(first_refusal_, now);
    give_up = first_refusal_ + std::min(limits_.auth_retry, limits_.retry);
  }
  if (!retry || now >= give_up) {
    if (result_.attempts > 1) message += fmt::format(" (tried {} times)", result_.attempts);
    Finish(outcome, std::move(message), now);
    return;
  }
  session_.reset();
  channel_ = nullptr;
  state_ = State::kWaiting;
  start_at_ = std::min(now + backoff_.Next(), give_up);
  SetPhase(Phase::kRetrying);
}

void Connection::Finish(Outcome outcome, std::string message, Time now) {
  session_.reset();
  channel_ = nullptr;
  state_ = State::kDone;
  wants_step_ = false;
  paused_ = false;
  timer_ = kNever;
  result_.outcome = outcome;
  result_.message = std::move(message);
  const Time sent = std::min(sent_at_, now);
  result_.waited = std::chrono::duration_cast<milliseconds>(sent - run_start_);
  result_.ran = std::chrono::duration_cast<milliseconds>(now - sent);
  sink_.OnResult(index_, result_);
  SetPhase(Phase::kDone);
}

short Connection::events() const {
  if (session_ == nullptr) return 0;
  if (task_ != Task::kPump || half_ != Half::kNone) return session_->WaitsFor();
  return paused_ && farewell_ == Farewell::kNone ? 0 : POLLIN;
}

}  // namespace podctl::ssh
