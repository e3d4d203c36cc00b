#include "providers/ssh/openssh_shell.h"

#include <cstring>
#include <utility>

#include "providers/os/child.h"
#include "providers/ssh/ssh_program.h"

namespace podctl::ssh {
namespace {

WorkerResult Unreachable(Cause cause) {
  WorkerResult result;
  result.End(Outcome::kUnreachable, std::move(cause));
  return result;
}

}  // namespace

WorkerResult RunShellByProgram(const WorkerAccess& worker, const ShellOptions& options,
                               const Environment& environment, const std::stop_token& stop) {
  constexpr int kNumber = 1;
  if (!worker.no_way.empty()) {
    return Unreachable(CauseAt(worker, Cause::Code::kNoWay, worker.no_way));
  }
  const auto folder = SshFolder::Make(environment.Get("XDG_RUNTIME_DIR").value_or(""),
                                      environment.Get("HOME").value_or(""), "ssh");
  if (!folder) return Unreachable(OtherCause(folder.error().message));
  const auto words = (*folder)->ShellArguments(worker, kNumber, options.tty, options.command);
  if (!words) return Unreachable(OtherCause(words.error().message));
  const auto end = RunInForeground(*words, stop);
  if (!end) return Unreachable(OtherCause(end.error().message));
  WorkerResult result;
  result.attempts = 1;
  result.outcome = Outcome::kExited;
  result.exit_code = end->exit_code;
  result.learned_host_key = (*folder)->TakeLearnedKey(kNumber);
  if (stop.stop_requested()) {
    result.outcome = Outcome::kCancelled;
  } else if (end->signal != 0) {
    result.outcome = Outcome::kSignaled;
    const char* name = sigabbrev_np(end->signal);
    result.signal = name == nullptr ? std::to_string(end->signal) : name;
  }
  return result;
}

}  // namespace podctl::ssh
