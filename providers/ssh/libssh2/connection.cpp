#include "providers/ssh/libssh2/connection.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "providers/ssh/keys/host_key.h"

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStall{5'000};  // step at least so often, whatever the socket says
// For the end of the command's own channel, once the worker has said what is left of it.
constexpr milliseconds kLastWords{1'000};
// For a worker to take over what it has to end, when nobody waits for that end. Below the patience
// of who left (cmd/interrupt.cpp).
constexpr milliseconds kHandOver{1'000};
// While that is awaited: what the one channel reads may have been for the other.
constexpr milliseconds kTerminationStall{100};
// A kept connection whose worker has gone without a word must not cost a whole time limit.
constexpr milliseconds kKeptPatience{5'000};

}  // namespace

Connection::Connection(std::size_t index, const Job& job, const Limits& limits,
                       const Endpoint& endpoint, std::shared_ptr<const Identities> identities,
                       Time run_start, ConnectionSink& sink)
    : index_(index),
      job_(job),
      limits_(limits),
      endpoint_(endpoint),
      identities_(std::move(identities)),
      sink_(sink),
      run_start_(run_start) {}

Connection::~Connection() = default;

void Connection::SetPhase(Phase phase) {
  if (phase == phase_) return;
  phase_ = phase;
  sink_.OnPhase(index_, phase);
}

void Connection::CloseSession() {
  command_.reset();
  session_.reset();
}

void Connection::Begin(Time now) {
  PODCTL_CHECK(state_ == State::kWaiting);
  ++result_.attempts;
  session_ = sink_.TakeKept(job_.worker);
  kept_ = session_ != nullptr;
  if (!kept_) {
    Open(now);
    return;
  }
  if (job_.worker.host_keys.empty()) {
    result_.learned_host_key = FormatHostKey(session_->shown_host_key());
  }
  LoggedIn(now);
  Step(now);
}

void Connection::Open(Time now) {
  kept_ = false;
  session_ =
      std::make_unique<Session>(job_.worker, endpoint_, identities_, sink_.SignerFor(index_));
  state_ = State::kConnecting;
  deadline_ = now + limits_.connect;
  SetPhase(Phase::kConnecting);
  Step(now);
}

void Connection::Refuse(Outcome outcome, Cause cause, Time now) {
  if (state_ == State::kRunning || state_ == State::kDone) return;
  Finish(outcome, std::move(cause), now);
}

void Connection::Step(Time now) {
  if (session_ != nullptr) session_->io().BeginRound();
  const bool opening = state_ == State::kConnecting || state_ == State::kExchangingKeys ||
                       state_ == State::kLoggingIn;
  if (opening) StepOpening(now);
  if (state_ == State::kReady || state_ == State::kRunning) StepCommand(now);
  if (session_ != nullptr) CheckTimers(now);
  if (session_ != nullptr) session_->io().EndRound();
  stall_ = state_ != State::kRunning ? kNever : now + (terminating_ ? kTerminationStall : kStall);
}

void Connection::Unpark(Time now) {
  PODCTL_CHECK(state_ == State::kParked);
  state_ = State::kConnecting;
  Step(now);
}

void Connection::StepOpening(Time now) {
  Stage before = session_->stage();
  Stage stage = session_->Advance();
  if (stage == Stage::kConnected) {
    if (!sink_.MayHandshake()) {
      state_ = State::kParked;
      deadline_ = kNever;
      return;
    }
    state_ = State::kExchangingKeys;
    SetPhase(Phase::kAuthenticating);
    session_->AllowHandshake();
    before = stage;
    stage = session_->Advance();
  }
  if (session_->learned_host_key().has_value()) {
    result_.learned_host_key = session_->learned_host_key();
  }
  if (stage == Stage::kFailed) {
    OpeningFailed(now);
  } else if (stage == Stage::kReady) {
    sink_.OnReached();
    LoggedIn(now);
  } else if (stage != before) {
    if (stage == Stage::kAuthenticating) state_ = State::kLoggingIn;
    deadline_ = now + StageLimit(stage, job_.worker, limits_);
  }
}

void Connection::OpeningFailed(Time now) {
  if (session_->trouble() == Session::Trouble::kOutOfResources &&
      sink_.OnOutOfResources(index_, now)) {
    --result_.attempts;
    CloseSession();
    state_ = State::kWaiting;
    return;
  }
  if (session_->trouble() == Session::Trouble::kConnection) sink_.OnTrouble(now);
  TroubleBeforeCommand(session_->verdict(), now);
}

void Connection::LoggedIn(Time now) {
  state_ = State::kReady;
  deadline_ = now + (kept_ ? std::min(limits_.auth, kKeptPatience) : limits_.auth);
  command_.emplace(*session_, job_, index_, sink_);
}

void Connection::StepCommand(Time now) {
  const bool ran = command_->running();
  const RemoteCommand::Event event = command_->Step();
  if (command_->sent() && state_ == State::kReady) {
    // From here on the command may have run, whatever happens.
    state_ = State::kRunning;
    sent_at_ = now;
    deadline_ = now + limits_.auth;
    command_deadline_ = limits_.command.count() > 0 ? now + limits_.command : kNever;
    SetPhase(Phase::kRunning);
  }
  if (command_->running() && !ran && !terminating_) deadline_ = command_deadline_;
  if (terminating_ && !read_termination_ && command_->has_ended()) {
    read_termination_ = true;
    deadline_ = now + kLastWords;
  }
  command_->CountBytes(result_);
  if (IsTooMuch(result_, limits_)) {
    Finish(Outcome::kLost, TooMuchOutput(limits_), now);
    return;
  }
  switch (event) {
    case RemoteCommand::Event::kGoingOn:
      if (cancelled_ && command_->running() && !terminating_) {
        BeginTermination(Outcome::kCancelled, CancelledCause(Termination::kNone), now);
      }
      if (abandoned_) LeaveToWorker(now);
      break;
    case RemoteCommand::Event::kNoChannel:
      TroubleBeforeCommand(
          {Outcome::kUnreachable,
           CauseAt(job_.worker, Cause::Code::kNoChannel, session_->LastError()), true},
          now);
      break;
    case RemoteCommand::Event::kDenied:
      Finish(Outcome::kUnreachable, CauseAt(job_.worker, Cause::Code::kNoCommands), now);
      break;
    case RemoteCommand::Event::kBroken:
      Broken(session_->LastError(), now);
      break;
    case RemoteCommand::Event::kExited:
      Exited(now);
      break;
  }
}

void Connection::BeginTermination(Outcome outcome, Cause cause, Time now) {
  terminating_ = true;
  termination_outcome_ = outcome;
  termination_cause_ = std::move(cause);
  deadline_ = now + (abandoned_ ? kHandOver : limits_.termination);
  result_.asked = true;
  command_->AskToEnd(job_.ending.empty() ? EndSiblingsCommand(limits_.grace) : job_.EndingNow());
}

// The worker has said what is left of the command, or the time to wait for that is over.
void Connection::FinishTermination(Termination termination, Time now) {
  result_.ended = termination == Termination::kEnded;
  termination_cause_.termination = termination;
  Finish(termination_outcome_, std::move(termination_cause_), now);
}

Termination Connection::ReportedTermination() const {
  return TerminationOf(command_.has_value() ? command_->has_ended() : std::nullopt);
}

void Connection::Cancel(Time now) {
  if (state_ == State::kDone || terminating_) return;
  if (state_ != State::kRunning) {
    Finish(Outcome::kCancelled, CancelledCause(Termination::kBeforeSent), now);
  } else if (!command_->running()) {
    // It may have begun. It can be ended when the worker says that it has.
    cancelled_ = true;
    deadline_ = std::min(deadline_, now + kHandOver);
  } else {
    BeginTermination(Outcome::kCancelled, CancelledCause(Termination::kNone), now);
    Step(now);
  }
}

void Connection::Abandon(Time now) {
  if (state_ == State::kDone) return;
  abandoned_ = true;
  Cancel(now);
  if (state_ == State::kDone) return;
  deadline_ = std::min(deadline_, now + kHandOver);
  LeaveToWorker(now);
}

void Connection::LeaveToWorker(Time now) {
  if (state_ == State::kDone || !terminating_) return;
  if (command_->left_to_worker(job_.ending.empty())) FinishTermination(ReportedTermination(), now);
}

void Connection::CheckTimers(Time now) {
  if (state_ == State::kDone || now < deadline_) return;
  if (terminating_) {
    const bool reported = !abandoned_ || command_->left_to_worker(job_.ending.empty());
    FinishTermination(reported ? ReportedTermination() : Termination::kNotWaited, now);
  } else if (cancelled_) {
    Finish(Outcome::kCancelled, CancelledCause(Termination::kWhileSent), now);
  } else if (state_ == State::kRunning && !command_->running()) {
    Finish(Outcome::kLost, LateAt(job_.worker, Cause::Code::kNoReply, limits_.auth), now);
  } else if (state_ == State::kRunning) {
    BeginTermination(Outcome::kTimedOut,
                     LateAt(job_.worker, Cause::Code::kTooLong, limits_.command), now);
  } else {
    if (!kept_) sink_.OnTrouble(now);
    Cause why = state_ == State::kReady
                    ? LateAt(job_.worker, Cause::Code::kChannelLate, limits_.auth)
                    : StageComplaint(session_->stage(), job_.worker, limits_);
    TroubleBeforeCommand({Outcome::kUnreachable, std::move(why), true}, now);
  }
}

void Connection::Exited(Time now) {
  if (terminating_) {
    FinishTermination(ReportedTermination(), now);
    return;
  }
  command_->ReadExit(result_);
  Close(now);
}

void Connection::Broken(const std::string& what, Time now) {
  if (terminating_) {
    FinishTermination(Termination::kBroke, now);
    return;
  }
  Finish(Outcome::kLost, CauseAt(job_.worker, Cause::Code::kBroke, what), now);
}

void Connection::TroubleBeforeCommand(Verdict verdict, Time now) {
  CloseSession();
  if (kept_) {  // whatever it is, a new connection tells better
    Open(now);
    return;
  }
  if (verdict.may_pass && sink_.TryAgain(index_, verdict, now)) {
    state_ = State::kWaiting;
    SetPhase(Phase::kRetrying);
    return;
  }
  result_.End(verdict.outcome, std::move(verdict.cause));
  result_.CountTries();
  Close(now);
}

void Connection::Finish(Outcome outcome, Cause cause, Time now) {
  result_.End(outcome, std::move(cause));
  Close(now);
}

void Connection::Close(Time now) {
  state_ = State::kDone;
  const Time sent = std::min(sent_at_, now);
  result_.waited = std::chrono::duration_cast<milliseconds>(sent - run_start_);
  result_.ran = std::chrono::duration_cast<milliseconds>(now - sent);
  if (command_.has_value()) command_->CountBytes(result_);
  sink_.OnResult(index_, result_);
  SetPhase(Phase::kDone);
  const bool ended = result_.outcome == Outcome::kExited || result_.outcome == Outcome::kSignaled;
  if (ended && command_->left_clean()) {
    _LIBSSH2_CHANNEL* channel = command_->channel();
    command_.reset();
    sink_.Keep(std::move(session_), channel);
  }
  CloseSession();
}

Connection::Time Connection::timer() const {
  const bool idle = state_ == State::kDone || state_ == State::kWaiting;
  return idle ? kNever : std::min(deadline_, stall_);
}

bool Connection::wants_step() const {
  return command_.has_value() && command_->wants_step();
}

bool Connection::paused() const {
  return command_.has_value() && command_->paused();
}

bool Connection::hungry() const {
  return command_.has_value() && command_->hungry();
}

short Connection::events() const {
  if (session_ == nullptr || state_ == State::kParked) return 0;
  const short events = command_.has_value() ? command_->events() : session_->WaitsFor();
  return session_->io().HasUnsent() ? static_cast<short>(events | POLLOUT) : events;
}

}  // namespace podctl::ssh
