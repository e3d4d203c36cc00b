#include "cmd/commands/failure.h"

#include "cmd/reporter.h"

namespace podctl {

int ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kLocked:
      return 3;
    case ErrorCode::kStalePlan:
      return 4;
    case ErrorCode::kInterrupted:
      return kInterruptedExitCode;
    default:
      return 1;
  }
}

int FailedExitCode(Wiring& wiring) {
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  return ExitCodeOf(wiring.reporter().failure().value_or(ErrorCode::kUnknown));
}

int ShowFailure(Wiring& wiring, const Error& error, const std::string& summary) {
  if (wiring.interrupt().requested() && error.code == ErrorCode::kCancelled) {
    wiring.reporter().TellInterrupted();
  } else {
    wiring.reporter().ShowError(summary, error);
  }
  return FailedExitCode(wiring);
}

}  // namespace podctl
