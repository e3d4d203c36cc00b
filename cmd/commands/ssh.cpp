#include "cmd/commands/ssh.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_target.h"
#include "providers/ssh/interactive.h"

namespace podctl {
namespace {

constexpr int kNoSession = 255;
constexpr int kUnheard = 141;     // what a shell shows for who died of SIGPIPE
constexpr int kSignalBase = 128;  // what a shell adds to a signal's number; its name is shown

}  // namespace

std::optional<int> RunOnTerminal(Wiring& wiring, const PodTarget& target,
                                 const WorkerAccess& worker, const std::string& command,
                                 std::optional<bool> tty) {
  auto identities = wiring.keyring().For(worker.identity_file);
  if (!identities) {
    ShowError(wiring, nullptr, "", identities.error());
    return std::nullopt;
  }
  ssh::LocalTerminal terminal;
  ssh::ShellOptions shell;
  shell.command = command;
  shell.tty = tty.value_or(terminal.IsTerminal());
  if (const char* term = std::getenv("TERM"); term != nullptr && *term != '\0') shell.term = term;
  shell.on_trouble = [&](const std::string& text) {
    wiring.streams().err << fmt::format("{}: {}; trying again\n", worker.Name(), text);
  };
  const ssh::WorkerResult result =
      ssh::RunShell(worker, *identities, shell, terminal, wiring.clock(), wiring.random(),
                    wiring.interrupt().drain());
  if (result.learned_host_key) {
    RememberHostKeys(wiring, target.address, {{worker.index, *result.learned_host_key}});
  }
  switch (result.outcome) {
    case ssh::Outcome::kExited:
      return result.exit_code;
    case ssh::Outcome::kSignaled:
      wiring.streams().err << fmt::format("{}: ended by signal {}\n", worker.Name(), result.signal);
      return kSignalBase + 1;
    case ssh::Outcome::kCancelled:
      return wiring.interrupt().requested() ? kInterruptedExitCode : kUnheard;
    default:
      ShowError(
          wiring, nullptr, "",
          MakeError(ErrorCode::kUnavailable, fmt::format("{}: {}", worker.Name(), result.message)));
      return std::nullopt;
  }
}

int RunSsh(Wiring& wiring, const PodOptions& options) {
  const auto fail = [&](const Error& error) {
    ShowError(wiring, nullptr, "", error);
    return kNoSession;
  };
  auto target = FindPod(wiring, options.pod);
  if (!target) return fail(target.error());
  auto workers = SelectWorkers(*target, options.workers, "0");
  if (!workers) return fail(workers.error());
  if (workers->size() != 1) {
    return fail(MakeError(ErrorCode::kInvalidArgument, "a shell is opened on one worker only",
                          "`podctl exec` runs a command on several."));
  }
  std::string command;
  if (!options.command.empty() || !target->exec_env.empty()) {
    auto words = options.command;
    if (words.empty()) words = {"exec \"${SHELL:-/bin/sh}\" -l"};
    command = RemoteCommand(words, target->exec_env);
  }
  std::optional<bool> tty = options.tty;
  if (options.command.empty() && !options.tty) tty.reset();
  return RunOnTerminal(wiring, *target, workers->front(), command, tty).value_or(kNoSession);
}

}  // namespace podctl
