// Errors of operations: what went wrong, as a value.
//
// Result<T> is the channel for operations (a request, a file, a connection); problems in a user's
// file go to Diagnostics (diagnostic.h) instead. Result has std::expected's names, which gcc 12
// does not ship. Nothing here prints, exits or throws.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace podctl {

// The first block has the meaning of google.rpc.Code (google/rpc/code.proto); the second is ours.
enum class ErrorCode {
  kCancelled,
  kUnknown,
  kInvalidArgument,
  kDeadlineExceeded,
  kNotFound,
  kAlreadyExists,
  kPermissionDenied,
  kResourceExhausted,
  kFailedPrecondition,
  kAborted,
  kOutOfRange,
  kUnimplemented,
  kInternal,
  kUnavailable,  // also: the connection could not be made, so the server never saw the request
  kDataLoss,
  kUnauthenticated,

  kReplyLost,    // the request may have been acted upon, but no whole answer came back
  kIo,           // a file or the disk refused
  kLocked,       // somebody else holds the lock
  kInterrupted,  // the user asked to stop
  kStalePlan,    // what would be done is not what was reviewed
};

// The canonical name, e.g. "NOT_FOUND" (google.rpc.Code); ours likewise, e.g. "REPLY_LOST".
std::string_view ErrorCodeName(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kUnknown;
  std::string message;  // one sentence, no trailing newline, never a secret
  std::string hint;     // what to do about it; may be empty
};

inline Error MakeError(ErrorCode code, std::string message, std::string hint = {}) {
  return Error{code, std::move(message), std::move(hint)};
}

// Aborts with the place: for a mistake of the programmer, never for one of the user or the world.
[[noreturn]] void AbortBecause(const char* what, const char* file, int line);

#define PODCTL_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::podctl::AbortBecause(#condition, __FILE__, __LINE__))

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : data_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : data_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return data_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    PODCTL_CHECK(has_value());
    return *std::get_if<0>(&data_);
  }
  const T& value() const& {
    PODCTL_CHECK(has_value());
    return *std::get_if<0>(&data_);
  }
  T&& value() && {
    PODCTL_CHECK(has_value());
    return std::move(*std::get_if<0>(&data_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    PODCTL_CHECK(!has_value());
    return *std::get_if<1>(&data_);
  }
  Error&& error() && {
    PODCTL_CHECK(!has_value());
    return std::move(*std::get_if<1>(&data_));
  }
  T value_or(T other) const { return has_value() ? value() : std::move(other); }

 private:
  std::variant<T, Error> data_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const {
    PODCTL_CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

// ---- What an exit code tells, in words.

// The signal that a shell tells by an exit code from 129, "KILL" for 137 (POSIX, "Exit Status for
// Commands"); empty: none.
std::string_view SignalOfExitCode(int exit_code);
// "exit code 3", "killed by KILL (exit code 137)".
std::string ExitCodeText(int exit_code);
// As what a program did: "ended with exit code 3", "was killed by KILL (exit code 137)".
std::string ExitCodeDeed(int exit_code);

}  // namespace podctl
