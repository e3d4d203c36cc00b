#include "providers/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace podctl {

std::string_view ErrorCodeName(ErrorCode code) {
  // In the order of ErrorCode.
  constexpr std::string_view kNames[] = {"CANCELLED",
                                         "UNKNOWN",
                                         "INVALID_ARGUMENT",
                                         "DEADLINE_EXCEEDED",
                                         "NOT_FOUND",
                                         "ALREADY_EXISTS",
                                         "PERMISSION_DENIED",
                                         "RESOURCE_EXHAUSTED",
                                         "FAILED_PRECONDITION",
                                         "ABORTED",
                                         "OUT_OF_RANGE",
                                         "UNIMPLEMENTED",
                                         "INTERNAL",
                                         "UNAVAILABLE",
                                         "DATA_LOSS",
                                         "UNAUTHENTICATED",
                                         "REPLY_LOST",
                                         "IO",
                                         "LOCKED",
                                         "INTERRUPTED",
                                         "STALE_PLAN"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ErrorCode::kStalePlan) + 1);
  return kNames[static_cast<std::size_t>(code)];
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
