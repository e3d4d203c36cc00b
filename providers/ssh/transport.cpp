#include "providers/ssh/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace podctl::ssh {

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kExited:
      return "exited";
    case Outcome::kSignaled:
      return "killed by a signal";
    case Outcome::kLost:
      return "lost";
    case Outcome::kTimedOut:
      return "timed out";
    case Outcome::kUnreachable:
      return "unreachable";
    case Outcome::kAuthRefused:
      return "authentication refused";
    case Outcome::kHostKeyChanged:
      return "host key changed";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kSkipped:
      return "not started";
  }
  return "unknown";
}

Error Verdict::ToError() const {
  const ErrorCode code = outcome == Outcome::kCancelled     ? ErrorCode::kCancelled
                         : outcome == Outcome::kAuthRefused ? ErrorCode::kUnauthenticated
                         : may_pass                         ? ErrorCode::kUnavailable
                                                            : ErrorCode::kFailedPrecondition;
  return MakeError(code, outcome == Outcome::kCancelled ? "cancelled" : FullWords(cause));
}

void WorkerResult::End(Outcome how, Cause why) {
  outcome = how;
  cause = std::move(why);
  message = FullWords(cause);
}

void WorkerResult::CountTries() {
  if (attempts > 1) message += fmt::format(" (tried {} times)", attempts);
}

std::string CauseOf(const WorkerResult& result) {
  if (result.ok()) return {};
  if (result.outcome == Outcome::kExited) {
    return result.cause ? SharedWords(result.cause) : ExitCodeText(result.exit_code);
  }
  if (result.outcome == Outcome::kSignaled) {
    // The program ssh does not tell which.
    return fmt::format("killed by {}", result.signal.empty() ? "a signal" : result.signal);
  }
  if (result.cause) return SharedWords(result.cause);
  return result.message.empty() ? std::string(OutcomeName(result.outcome)) : result.message;
}

Termination TerminationOf(std::optional<bool> reported) {
  if (!reported) return Termination::kStillAtIt;
  return *reported ? Termination::kEnded : Termination::kNotEnded;
}

bool IsTooMuch(const WorkerResult& result, const Limits& limits) {
  return limits.output > 0 && result.bytes_out + result.bytes_err > limits.output;
}

Cause TooMuchOutput(const Limits& limits) {
  Cause cause;
  cause.code = Cause::Code::kTooMuch;
  cause.words = fmt::format("{} KiB", limits.output / 1024);
  return cause;
}

void Observer::OnResult(std::size_t, const WorkerResult&) {}

std::size_t Transport::MostAtOnce(const std::vector<WorkerAccess>& workers) const {
  return workers.size();
}

std::chrono::milliseconds StageLimit(Stage stage, const WorkerAccess& worker,
                                     const Limits& limits) {
  switch (stage) {
    case Stage::kConnecting:
      return limits.connect;
    case Stage::kGreeting:
      // A program is there at once, and connects only then.
      return worker.through.empty() ? limits.first_byte : limits.connect + limits.first_byte;
    case Stage::kHandshaking:
      return limits.handshake;
    case Stage::kAuthenticating:
      return limits.auth;
    case Stage::kConnected:
    case Stage::kReady:
    case Stage::kFailed:
      break;
  }
  return std::chrono::milliseconds(0);
}

Cause StageComplaint(Stage stage, const WorkerAccess& worker, const Limits& limits) {
  const std::chrono::milliseconds limit = StageLimit(stage, worker, limits);
  switch (stage) {
    case Stage::kConnecting:
      return LateAt(worker, Cause::Code::kNoAnswer, limit);
    case Stage::kGreeting: {
      if (worker.through.empty()) return LateAt(worker, Cause::Code::kSilent, limit);
      Cause cause = CauseThrough(worker, Cause::Code::kSilentBehind);
      cause.limit = limit;
      return cause;
    }
    case Stage::kHandshaking:
      return LateAt(worker, Cause::Code::kNoKeyExchange, limit);
    case Stage::kAuthenticating:
      return LateAt(worker, Cause::Code::kNotLetIn, limit);
    case Stage::kConnected:
    case Stage::kReady:
    case Stage::kFailed:
      break;
  }
  return {};
}

bool AnyThroughProgram(const std::vector<WorkerAccess>& workers) {
  return std::any_of(workers.begin(), workers.end(),
                     [](const WorkerAccess& worker) { return !worker.through.empty(); });
}

bool AnyThroughProgram(const std::vector<Job>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(),
                     [](const Job& job) { return !job.worker.through.empty(); });
}

std::vector<WorkerResult> TransportSelector::Run(const std::vector<Job>& jobs, const Limits& limits,
                                                 Observer& observer, std::stop_token stop) {
  if (jobs.empty()) return {};
  const bool use_openssh = jobs.front().worker.use_openssh;
  std::vector<Job> known = jobs;
  for (Job& job : known) {
    PODCTL_CHECK(job.worker.use_openssh == use_openssh);
    consult_(job.worker);
  }
  Transport& transport = use_openssh ? openssh_ : own_;
  return transport.Run(known, limits, observer, std::move(stop));
}

std::size_t TransportSelector::MostAtOnce(const std::vector<WorkerAccess>& workers) const {
  if (workers.empty()) return 1;
  const Transport& transport = workers.front().use_openssh ? openssh_ : own_;
  return transport.MostAtOnce(workers);
}

}  // namespace podctl::ssh
