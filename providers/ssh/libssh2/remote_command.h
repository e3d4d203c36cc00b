// One command on a channel of a session that is logged in: opens the channel, sends the command,
// passes its output on, feeds its input, and asks it to end when told to. Never waits; knows no
// clock, no retries and no other worker.
//
// Lives on its session's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "providers/ssh/libssh2/session.h"
#include "providers/ssh/libssh2/terminal.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

// Where output goes.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual void OnData(std::size_t job, Stream stream, std::string_view bytes) = 0;
  // The reader is behind: take no more output of this job for now.
  virtual bool Full(std::size_t job) = 0;
  // Bytes that a worker may send ahead of us. libssh2 takes in all that has come before it gives
  // out any, so this is memory; on a long way it is also what a round trip brings.
  virtual unsigned SendAhead() const { return 256 * 1024; }
};

// What a command with a user at it wants: a terminal on the worker, perhaps, and without a command
// the login shell.
struct TerminalRequest {
  bool tty = true;
  std::string term;
  WindowSize size;
};

class RemoteCommand {
 public:
  // What a step has come to. All but kGoingOn are the end.
  enum class Event {
    kGoingOn,
    kNoChannel,  // the worker opened none; nothing was sent
    kDenied,     // the worker runs no commands, or gives no terminal
    kBroken,     // the connection broke after the command was sent
    kExited,     // ReadExit tells how
  };

  // All are lent and must outlive it; `job` is the index that the sink is told.
  RemoteCommand(Session& session, const Job& what, std::size_t job, OutputSink& sink,
                const TerminalRequest* terminal = nullptr)
      : session_(session), what_(what), job_(job), sink_(sink), terminal_(terminal) {}
  RemoteCommand(const RemoteCommand&) = delete;
  RemoteCommand& operator=(const RemoteCommand&) = delete;

  Event Step();
  // Asks what was started to end, over the same connection; the next steps do it.
  void AskToEnd(const std::string& text);
  void Resize(WindowSize size) { new_size_ = size; }  // of its terminal; likewise

  bool sent() const { return task_ != Task::kOpenChannel; }  // it may have run, whatever happens
  bool running() const { return task_ == Task::kPump; }      // the worker has confirmed it
  // After AskToEnd: whether nothing is left of it; nullopt as long as the worker has not said so.
  std::optional<bool> has_ended() const { return has_ended_; }
  // After AskToEnd: whether that goes on also when the connection goes. `speaks`: what is asked
  // says a line when it does; of another text it is enough that the worker has begun it.
  bool left_to_worker(bool speaks) const {
    return termination_ == Termination::kOver ||
           (speaks ? termination_began_ : termination_ == Termination::kWait);
  }
  bool wants_step() const { return wants_step_; }  // more can be done without waiting
  bool paused() const { return paused_; }          // the sink was full
  bool hungry() const { return hungry_; }          // waits for more of the job's feed
  short events() const;                            // what to poll the socket for

  void ReadExit(WorkerResult& result) const;  // after kExited
  void CountBytes(WorkerResult& result) const;
  // After kExited: whether the session is as good as new once the channel is freed.
  bool left_clean() const {
    return pending_call_ == PendingCall::kNone && termination_ == Termination::kNone;
  }
  _LIBSSH2_CHANNEL* channel() { return channel_; }  // freed with the session, or by who keeps that

 private:
  enum class Task { kOpenChannel, kTerminal, kStart, kPump };  // in this order
  // The call that left a packet half sent; it must be repeated before any other.
  enum class PendingCall { kNone, kWrite, kEof, kReadOut, kReadErr, kResize, kTermination };
  enum class Termination { kNone, kOpenChannel, kStart, kWait, kOver };

  Event OpenChannel();
  Event AskForTerminal();
  Event Start();
  Event Pump();
  // These are false when the step is over: broken_, or a packet is half sent.
  bool RepeatPendingCall();
  bool Drain();
  bool Read(Stream stream, std::size_t& got);
  bool InputEnded() const;
  std::string_view NextInput() const;
  bool FeedInput();
  bool Write();
  bool SendEof();
  bool SendSize();
  bool StepTermination();
  bool ReadTermination();
  void Waits(PendingCall pending_call);

  Session& session_;
  const Job& what_;
  const std::size_t job_;
  OutputSink& sink_;
  const TerminalRequest* const terminal_;
  std::optional<WindowSize> new_size_;
  _LIBSSH2_CHANNEL* channel_ = nullptr;
  _LIBSSH2_CHANNEL* termination_channel_ = nullptr;
  Task task_ = Task::kOpenChannel;
  PendingCall pending_call_ = PendingCall::kNone;
  Termination termination_ = Termination::kNone;
  std::string termination_command_;
  bool termination_began_ = false;
  std::optional<bool> has_ended_;
  bool closed_ = false;  // the command's channel, by the worker
  bool broken_ = false;
  bool eof_sent_ = false;
  bool wants_step_ = false;
  bool paused_ = false;
  bool hungry_ = false;
  std::uint64_t input_sent_ = 0;  // bytes, of the input and the feed together
  std::uint64_t bytes_out_ = 0;
  std::uint64_t bytes_err_ = 0;
};

}  // namespace podctl::ssh
