#include "providers/ssh/transport.h"

#include <fmt/format.h>

namespace podctl::ssh {

std::string EndingWords(std::optional<bool> told) {
  if (!told) return "; asked to end, still at it";
  return *told ? "; ended" : "; asked to end, and could not be ended";
}

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

bool IsTooMuch(const WorkerResult& result, const Limits& limits) {
  return limits.output > 0 && result.bytes_out + result.bytes_err > limits.output;
}

std::string TooMuchOutput(const Limits& limits) {
  return fmt::format("it sent more than the {} KiB that an answer may have", limits.output / 1024);
}

void Observer::OnResult(std::size_t, const WorkerResult&) {}

std::size_t Transport::MostAtOnce(const std::vector<WorkerAccess>& workers) const {
  return workers.size();
}

}  // namespace podctl::ssh
