#include "providers/ssh/transport.h"

#include <fmt/format.h>

#include <utility>

#include "providers/base/error.h"

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
  if (result.outcome == Outcome::kExited) return ExitCodeText(result.exit_code);
  if (result.outcome == Outcome::kSignaled) {
    // The program ssh does not tell which.
    return fmt::format("killed by {}", result.signal.empty() ? "a signal" : result.signal);
  }
  if (result.cause) return SharedWords(result.cause);
  return result.message.empty() ? std::string(OutcomeName(result.outcome)) : result.message;
}

Farewell FarewellOf(std::optional<bool> told) {
  if (!told) return Farewell::kStillAtIt;
  return *told ? Farewell::kEnded : Farewell::kNotEnded;
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

}  // namespace podctl::ssh
