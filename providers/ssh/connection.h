// One job of a fan-out: a small state machine that connects, logs in, runs the command, passes its
// output on and tells how it ended; and that tries again as long as nothing was sent yet.
//
// Lives on the poller thread. Never waits: it says what it waits for (fd, events, next timer).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "providers/os/clock.h"
#include "providers/ssh/backoff.h"
#include "providers/ssh/libssh2_names.h"
#include "providers/ssh/session.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

// Where a connection puts what it learns. Called on the poller thread.
class ConnectionSink {
 public:
  virtual ~ConnectionSink() = default;
  virtual void OnData(std::size_t job, Stream stream, std::string_view bytes) = 0;
  virtual void OnPhase(std::size_t job, Phase phase) = 0;
  virtual void OnResult(std::size_t job, const WorkerResult& result) = 0;
  virtual bool Full() const = 0;  // the reader is behind: take no more output for now
};

class Connection {
 public:
  using Time = Clock::SteadyTime;
  static constexpr Time kNever = Time::max();

  // Everything lent must outlive the connection.
  // `run_start`: since when the job has waited.
  Connection(std::size_t index, const Job& job, const Limits& limits, const Endpoint& endpoint,
             std::shared_ptr<const Identities> identities, Time run_start, Random& random,
             ConnectionSink& sink);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  enum class State { kWaiting, kOpening, kRunning, kDone };
  State state() const { return state_; }
  bool IsHandshaking() const { return state_ == State::kOpening; }

  void Begin(Time now);   // opens a connection; only in kWaiting, not before start_at()
  void Step(Time now);    // after an event or a timer
  void Cancel(Time now);  // stop was asked for; done at once or after a short farewell
  // Ends it before the command is sent (no address, no key, too many failures elsewhere); nothing
  // happens when it was sent already.
  void Refuse(Outcome outcome, std::string message, Time now);
  const WorkerResult& result() const { return result_; }  // whole once kDone

  Time start_at() const { return start_at_; }
  Time timer() const { return timer_; }
  bool wants_step() const { return wants_step_; }  // more can be done without waiting
  bool paused() const { return paused_; }          // stopped reading because the sink was full

  int fd() const { return session_ == nullptr ? -1 : session_->fd(); }
  int attempt() const { return result_.attempts; }  // a new number means a new socket
  short events() const;                             // what to poll fd() for

  WorkerResult TakeResult() { return std::move(result_); }

 private:
  // What is being done on the channel, in order.
  enum class Task { kOpenChannel, kStart, kPump };
  // The call that left a packet half sent; it must be repeated before any other.
  enum class Half { kNone, kWrite, kEof, kReadOut, kReadErr, kFarewell };
  enum class Farewell { kNone, kOpenChannel, kStart, kWait };

  void StepOpening(Time now);
  void StepChannel(Time now);
  bool OpenChannel(Time now);
  bool Start(Time now);
  void Pump(Time now);
  bool FeedInput(Time now);
  bool Write(Time now);
  bool SendEof();
  bool Drain(Time now);
  bool Read(Stream stream, std::size_t& got, Time now);
  bool StepFarewell();
  bool FinishHalf(Time now);
  void Waits(Half half);
  void BeginFarewell(Outcome outcome, std::string message, Time now);
  void CheckTimers(Time now);
  void Exited(Time now);
  void TroubleBeforeCommand(Outcome outcome, std::string message, Time now, bool retry);
  void Broken(const std::string& what, Time now);
  void Finish(Outcome outcome, std::string message, Time now);
  void SetPhase(Phase phase);

  const std::size_t index_;
  const Job& job_;
  const Limits& limits_;
  const Endpoint endpoint_;
  const std::shared_ptr<const Identities> identities_;
  ConnectionSink& sink_;
  Backoff backoff_;

  State state_ = State::kWaiting;
  Phase phase_ = Phase::kWaiting;
  const Time run_start_;
  Time first_try_ = kNever;
  Time first_refusal_ = kNever;  // of our keys
  Time sent_at_ = kNever;        // the command
  Time start_at_ = Time::min();
  Time timer_ = kNever;
  Time deadline_ = kNever;  // of the stage at hand
  Time command_deadline_ = kNever;
  std::unique_ptr<Session> session_;
  _LIBSSH2_CHANNEL* channel_ = nullptr;  // freed with the session
  Task task_ = Task::kOpenChannel;
  Half half_ = Half::kNone;
  bool eof_sent_ = false;
  std::size_t input_sent_ = 0;
  bool wants_step_ = false;
  bool paused_ = false;
  Farewell farewell_ = Farewell::kNone;
  _LIBSSH2_CHANNEL* farewell_channel_ = nullptr;
  Outcome farewell_outcome_ = Outcome::kCancelled;
  std::string farewell_message_;
  WorkerResult result_;
};

}  // namespace podctl::ssh
