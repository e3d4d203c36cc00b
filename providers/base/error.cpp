#include "providers/base/error.h"

#include <cstdio>
#include <cstdlib>

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

}  // namespace podctl
