#include "providers/ssh/openssh/mux_run.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "providers/base/ending_text.h"
#include "providers/ssh/openssh/mux_session.h"

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;
using Time = Clock::SteadyTime;

constexpr milliseconds kMuxLastWords{1'000};  // for what is left in the pipes
// For a worker to take over what it has to end, when nobody waits for that end.
constexpr milliseconds kMuxHandOver{1'000};
// How often the time limit is checked, and whether anybody still waits for the termination.
constexpr milliseconds kPace{1'000};
constexpr milliseconds kAbandonPace{100};
constexpr std::size_t kMuxChunk = std::size_t{32} * 1024;

class MuxRun {
 public:
  MuxRun(const std::string& socket_path, const Job& job, const Limits& limits, Clock& clock,
         int stop_fd, const Wakeup& news, MuxRunObserver& observer)
      : socket_path_(socket_path),
        job_(job),
        limits_(limits),
        clock_(clock),
        stop_fd_(stop_fd),
        news_(news),
        observer_(observer) {}

  MuxEnding Run();

 private:
  void Step();
  void Wait(std::array<pollfd, 8>& fds);
  void Read(Stream stream);
  void FindInput();
  void Feed();
  void CheckTime();
  void BeginTermination(Outcome outcome, Cause cause);
  void ReadTermination();
  void FinishTermination();
  void Judge();
  void End(Outcome outcome, Cause cause);

  const std::string& socket_path_;
  const Job& job_;
  const Limits& limits_;
  Clock& clock_;
  const int stop_fd_;
  const Wakeup& news_;
  MuxRunObserver& observer_;
  std::unique_ptr<MuxSession> session_;
  std::unique_ptr<MuxSession> termination_;
  bool terminating_ = false;
  bool termination_began_ = false;  // it has found what it is to end, and goes on alone
  bool abandoned_ = false;
  std::optional<bool> has_ended_;  // what the worker reported of it
  bool done_ = false;
  std::uint64_t input_read_ = 0;  // of the job's text and then of its feed
  std::string input_;             // read and not yet sent
  Time start_{};
  Time deadline_ = Time::max();
  MuxEnding ending_;
};

void MuxRun::End(Outcome outcome, Cause cause) {
  done_ = true;
  ending_.result.End(outcome, std::move(cause));
}

MuxEnding MuxRun::Run() {
  auto session = MuxSession::Start(socket_path_, job_.command, true);
  if (!session) {
    End(Outcome::kUnreachable,
        CauseAt(job_.worker, Cause::Code::kNoCommand, session.error().message));
    return std::move(ending_);
  }
  session_ = *std::move(session);
  ending_.sent = true;
  observer_.OnSent();
  start_ = clock_.Steady();
  deadline_ = start_ + limits_.auth;
  FindInput();
  while (!done_) Step();
  return std::move(ending_);
}

void MuxRun::Wait(std::array<pollfd, 8>& fds) {
  const bool full = observer_.Full();
  fds = {{{session_->control_fd(), POLLIN, 0},
          {full ? -1 : session_->out_fd(), POLLIN, 0},
          {full ? -1 : session_->err_fd(), POLLIN, 0},
          {input_.empty() ? -1 : session_->in_fd(), POLLOUT, 0},
          {terminating_ ? -1 : stop_fd_, POLLIN, 0},
          {news_.fd(), POLLIN, 0},
          {termination_ ? termination_->control_fd() : -1, POLLIN, 0},
          {termination_ && !termination_began_ ? termination_->out_fd() : -1, POLLIN, 0}}};
  const milliseconds longest = terminating_ ? kAbandonPace : kPace;
  const auto now = clock_.Steady();
  // What is still to be read waits for the observer.
  if (full && session_->over() && !terminating_) deadline_ = now + kMuxLastWords;
  const milliseconds left =
      deadline_ <= now ? milliseconds(0)
                       : std::min(longest, std::chrono::ceil<milliseconds>(deadline_ - now));
  if (poll(fds.data(), fds.size(), static_cast<int>(left.count())) < 0) {
    for (pollfd& fd : fds) fd.revents = 0;
  }
}

void MuxRun::Step() {
  std::array<pollfd, 8> fds{};
  Wait(fds);
  const bool was_opened = session_->opened();
  if (fds[0].revents != 0) session_->ReadControl();
  if (!was_opened && session_->opened()) {
    deadline_ = limits_.command.count() > 0 ? start_ + limits_.command : Time::max();
  }
  if (fds[1].revents != 0) Read(Stream::kOut);
  if (fds[2].revents != 0) Read(Stream::kErr);
  if (fds[3].revents != 0) Feed();
  if (fds[5].revents != 0) {
    news_.Silence();
    if (input_.empty() && session_->in_fd() >= 0) FindInput();
  }
  if (fds[4].revents != 0)
    BeginTermination(Outcome::kCancelled, CancelledCause(Termination::kNone));
  termination_began_ = termination_began_ || fds[7].revents != 0;
  if (fds[6].revents != 0) ReadTermination();
  if (done_) return;
  if (session_->refusal()) {
    ending_.sent = false;
    End(Outcome::kUnreachable, CauseAt(job_.worker, Cause::Code::kNoChannel, *session_->refusal()));
  } else if (session_->over() && session_->out_fd() < 0 && session_->err_fd() < 0) {
    Judge();
  } else if (session_->over() && fds[0].revents != 0 && !terminating_) {
    deadline_ = clock_.Steady() + kMuxLastWords;
  } else {
    CheckTime();
  }
}

void MuxRun::Read(Stream stream) {
  std::array<char, kMuxChunk> buffer;
  const bool is_out = stream == Stream::kOut;
  const ssize_t got =
      read(is_out ? session_->out_fd() : session_->err_fd(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    is_out ? session_->CloseOut() : session_->CloseErr();
    return;
  }
  const auto size = static_cast<std::size_t>(got);
  (is_out ? ending_.result.bytes_out : ending_.result.bytes_err) += size;
  observer_.OnData(stream, std::string_view(buffer.data(), size));
  if (IsTooMuch(ending_.result, limits_)) End(Outcome::kLost, TooMuchOutput(limits_));
}

void MuxRun::Feed() {
  const ssize_t sent = send(session_->in_fd(), input_.data(), input_.size(), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (sent < 0) {
    // A command that ended without reading all of its input is no trouble.
    input_.clear();
    session_->CloseIn();
    return;
  }
  input_.erase(0, static_cast<std::size_t>(sent));
  if (input_.empty()) FindInput();
}

// Reads the next piece of the input, if it is there; at its end closes the command's.
void MuxRun::FindInput() {
  const std::uint64_t text = job_.input == nullptr ? 0 : job_.input->size();
  if (input_read_ < text) {
    input_ = job_.input->substr(input_read_, kMuxChunk);
  } else if (job_.feed != nullptr && !job_.feed->EndsAt(input_read_ - text)) {
    input_.resize(kMuxChunk);
    input_.resize(job_.feed->Read(input_read_ - text, input_.data(), input_.size()));
  } else {
    session_->CloseIn();
  }
  input_read_ += input_.size();
}

void MuxRun::BeginTermination(Outcome outcome, Cause cause) {
  terminating_ = true;
  ending_.result.End(outcome, std::move(cause));
  ending_.result.asked = true;
  deadline_ = clock_.Steady() + limits_.termination;
  auto termination = MuxSession::Start(
      socket_path_, job_.ending.empty() ? EndSiblingsCommand(limits_.grace) : job_.EndingNow(),
      true);
  if (!termination) return;
  termination_ = *std::move(termination);
  termination_->CloseIn();
}

void MuxRun::ReadTermination() {
  termination_->ReadControl();
  if (!termination_->over()) return;
  if (termination_->exit_code()) has_ended_ = EndedByCode(*termination_->exit_code());
  termination_.reset();
  deadline_ = clock_.Steady() + kMuxLastWords;
}

void MuxRun::FinishTermination() {
  ending_.result.ended = has_ended_.value_or(false);
  Cause cause = std::move(ending_.result.cause);
  cause.termination = TerminationOf(has_ended_);
  End(ending_.result.outcome, std::move(cause));
}

void MuxRun::CheckTime() {
  // Nobody waits: but for the worker to have taken over what it has to end.
  if (terminating_ && limits_.abandon.stop_requested() && !abandoned_) {
    abandoned_ = true;
    deadline_ = std::min(deadline_, clock_.Steady() + kMuxHandOver);
  }
  const bool reported =
      job_.ending.empty() ? termination_began_ : termination_ && termination_->opened();
  const bool left = abandoned_ && (!termination_ || reported);
  if (clock_.Steady() < deadline_ && !left) return;
  if (terminating_) {
    FinishTermination();
  } else if (session_->over()) {
    Judge();
  } else if (!session_->opened()) {
    End(Outcome::kLost, LateAt(job_.worker, Cause::Code::kNoReply, limits_.auth));
  } else {
    BeginTermination(Outcome::kTimedOut,
                     LateAt(job_.worker, Cause::Code::kTooLong, limits_.command));
  }
}

void MuxRun::Judge() {
  if (terminating_) {
    // What it has left behind is still being ended.
    if (!termination_) return FinishTermination();
    CheckTime();
    return;
  }
  if (session_->exit_code()) {
    ending_.result.exit_code = *session_->exit_code();
    ending_.connection_is_good = true;
    End(Outcome::kExited, {});
    return;
  }
  // No exit code, and the connection is there: the worker reported a signal, which ssh
  // keeps to itself.
  ending_.connection_is_good = session_->opened() && MasterAnswers(socket_path_);
  if (ending_.connection_is_good) {
    End(Outcome::kSignaled, OtherCause("the command was killed by a signal"));
    return;
  }
  End(Outcome::kLost, CauseAt(job_.worker, Cause::Code::kBroke));
}

}  // namespace

MuxEnding RunOverMux(const std::string& socket_path, const Job& job, const Limits& limits,
                     Clock& clock, int stop_fd, const Wakeup& news, MuxRunObserver& observer) {
  return MuxRun(socket_path, job, limits, clock, stop_fd, news, observer).Run();
}

}  // namespace podctl::ssh
