#include "providers/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace podctl {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kCancelled:
      return "CANCELLED";
    case ErrorCode::kUnknown:
      return "UNKNOWN";
    case ErrorCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case ErrorCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case ErrorCode::kNotFound:
      return "NOT_FOUND";
    case ErrorCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case ErrorCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case ErrorCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case ErrorCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case ErrorCode::kAborted:
      return "ABORTED";
    case ErrorCode::kOutOfRange:
      return "OUT_OF_RANGE";
    case ErrorCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case ErrorCode::kInternal:
      return "INTERNAL";
    case ErrorCode::kUnavailable:
      return "UNAVAILABLE";
    case ErrorCode::kDataLoss:
      return "DATA_LOSS";
    case ErrorCode::kUnauthenticated:
      return "UNAUTHENTICATED";
    case ErrorCode::kReplyLost:
      return "REPLY_LOST";
    case ErrorCode::kIo:
      return "IO";
    case ErrorCode::kLocked:
      return "LOCKED";
    case ErrorCode::kInterrupted:
      return "INTERRUPTED";
    case ErrorCode::kStalePlan:
      return "STALE_PLAN";
  }
  return "UNKNOWN";
}

void AbortBecause(const char* what, const char* file, int line) {
  std::fprintf(stderr, "podctl: bug: %s does not hold at %s:%d\n", what, file, line);
  std::abort();
}

namespace {

struct Signal {
  int number;
  std::string_view name;
};
// Linux's numbers, on whatever system podctl itself runs.
constexpr Signal kSignals[] = {{1, "HUP"},   {2, "INT"},   {3, "QUIT"},  {4, "ILL"},   {6, "ABRT"},
                               {7, "BUS"},   {8, "FPE"},   {9, "KILL"},  {11, "SEGV"}, {13, "PIPE"},
                               {14, "ALRM"}, {15, "TERM"}, {24, "XCPU"}, {25, "XFSZ"}, {31, "SYS"}};

}  // namespace

std::string_view SignalOfExitCode(int exit_code) {
  constexpr int kSignalBase = 128;
  const auto* found =
      std::find_if(std::begin(kSignals), std::end(kSignals),
                   [&](const Signal& signal) { return signal.number == exit_code - kSignalBase; });
  return found == std::end(kSignals) ? std::string_view() : found->name;
}

std::string ExitCodeText(int exit_code) {
  const std::string_view signal = SignalOfExitCode(exit_code);
  if (signal.empty()) return fmt::format("exit code {}", exit_code);
  return fmt::format("killed by {} (exit code {})", signal, exit_code);
}

std::string ExitCodeDeed(int exit_code) {
  const bool killed = !SignalOfExitCode(exit_code).empty();
  return (killed ? "was " : "ended with ") + ExitCodeText(exit_code);
}

}  // namespace podctl
