// One job of a fan-out: a small state machine that connects (or takes a connection that was kept),
// logs in, runs the command and tells how it ended; and that tries again as long as nothing was
// sent yet.
//
// Lives on the poller thread. Never waits: it says what it waits for (fd, events, next timer).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "providers/os/clock.h"
#include "providers/ssh/libssh2/remote_command.h"
#include "providers/ssh/libssh2/session.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

// Where a connection puts what it learns, and whom it asks. Called on the poller thread.
class ConnectionSink : public OutputSink {
 public:
  virtual void OnPhase(std::size_t job, Phase phase) = 0;
  // The try failed before the command was sent, and that may pass: true, and Begin will be called
  // again; false: it is to end so.
  virtual bool TryAgain(std::size_t, const Verdict&, Clock::SteadyTime) { return false; }
  virtual void OnResult(std::size_t job, const WorkerResult& result) = 0;

  // Whether a key exchange may begin now. If not, the connection is parked until Unpark.
  virtual bool MayHandshake() { return true; }
  // A session that was kept, logged in as this worker wants it; null: none.
  virtual std::unique_ptr<Session> TakeKept(const WorkerAccess&) { return nullptr; }
  // A session that is done with one command, and the channel that is still to be freed.
  virtual void Keep(std::unique_ptr<Session>, _LIBSSH2_CHANNEL*) {}
  // For a limit that adapts: a worker let us in; one was refused, reset or silent; this machine
  // has no socket left (true: there will be one later, so that it is nobody's failure, and Begin
  // will be called again).
  virtual void OnReached() {}
  virtual void OnTrouble(Clock::SteadyTime) {}
  virtual bool OnOutOfResources(std::size_t, Clock::SteadyTime) { return false; }
  // Has a signature made elsewhere, then Step called. Null: signatures are made on the spot.
  virtual Session::SignElsewhere SignerFor(std::size_t) { return nullptr; }
};

class Connection {
 public:
  using Time = Clock::SteadyTime;
  static constexpr Time kNever = Time::max();

  // Everything lent must outlive the connection. `run_start`: since when the job has waited.
  Connection(std::size_t index, const Job& job, const Limits& limits, const Endpoint& endpoint,
             std::shared_ptr<const Identities> identities, Time run_start, ConnectionSink& sink);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // kParked: connected, and waiting for its turn in the key exchange. kReady: logged in, and
  // nothing was sent yet.
  enum class State {
    kWaiting,
    kConnecting,
    kParked,
    kExchangingKeys,
    kLoggingIn,
    kReady,
    kRunning,
    kDone
  };
  State state() const { return state_; }

  const WorkerAccess& worker() const { return job_.worker; }
  // Where a program leads there, or none does, no address is needed.
  bool HasEndpoint() const {
    return endpoint_.size > 0 || !job_.worker.through.empty() || !job_.worker.no_route.empty();
  }
  void SetEndpoint(const Endpoint& endpoint) { endpoint_ = endpoint; }  // while kWaiting

  void Begin(Time now);   // only in kWaiting: a try
  void Step(Time now);    // after an event or a timer
  void Unpark(Time now);  // only in kParked: its turn has come
  // Stop was asked for: done at once, or after a short time to end a command that runs.
  void Cancel(Time now);
  void Abandon(Time now);  // likewise without ending it, or without waiting for its end
  // Ends it before the command is sent (no address, no key, too many failures elsewhere); nothing
  // happens when it was sent already.
  void Refuse(Outcome outcome, Cause cause, Time now);

  Time timer() const;       // when to step at the latest; kNever in kWaiting
  bool wants_step() const;  // more can be done without waiting
  bool paused() const;      // stopped reading because the sink was full
  bool hungry() const;      // waits for more of the job's feed

  Session* session() const { return session_.get(); }
  short events() const;  // what to poll the session's socket for

 private:
  void Open(Time now);
  void StepOpening(Time now);
  void LoggedIn(Time now);
  void StepCommand(Time now);
  void CheckTimers(Time now);
  void OpeningFailed(Time now);
  void TroubleBeforeCommand(Verdict verdict, Time now);
  void Exited(Time now);
  void Broken(const std::string& what, Time now);
  void BeginTermination(Outcome outcome, Cause cause, Time now);
  // Of one that nobody waits for: done as soon as the worker goes on without us.
  void LeaveToWorker(Time now);
  void FinishTermination(Termination termination, Time now);
  Termination ReportedTermination()
      const;  // what the worker has said of the command that is to end
  void Finish(Outcome outcome, Cause cause, Time now);
  void Close(Time now);  // with the result as it is
  void CloseSession();
  void SetPhase(Phase phase);

  const std::size_t index_;
  const Job& job_;
  const Limits& limits_;
  Endpoint endpoint_;
  const std::shared_ptr<const Identities> identities_;
  ConnectionSink& sink_;
  const Time run_start_;

  State state_ = State::kWaiting;
  Phase phase_ = Phase::kWaiting;
  Time sent_at_ = kNever;   // the command
  Time deadline_ = kNever;  // of the stage at hand
  Time stall_ = kNever;     // step at the latest, whatever the socket says
  Time command_deadline_ = kNever;
  std::unique_ptr<Session> session_;
  std::optional<RemoteCommand> command_;  // on session_
  bool kept_ = false;                     // the session served before
  bool cancelled_ = false;  // before the worker has confirmed the command: to be asked to end then
  bool terminating_ = false;
  bool abandoned_ = false;  // nobody waits any more, but for the worker to go on alone
  bool read_termination_ = false;
  Outcome termination_outcome_ = Outcome::kCancelled;
  Cause termination_cause_;
  WorkerResult result_;
};

}  // namespace podctl::ssh
