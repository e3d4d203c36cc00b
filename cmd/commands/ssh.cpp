#include "cmd/commands/ssh.h"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>

#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/wiring.h"
#include "plans/fleet/exec/request.h"
#include "plans/session/loss_watch.h"
#include "providers/ssh/libssh2/session_hooks.h"
#include "providers/ssh/libssh2/shell.h"
#include "providers/ssh/openssh/ssh_program.h"

namespace podctl {
namespace {

constexpr int kUnheard = 141;     // what a shell shows for who died of SIGPIPE
constexpr int kSignalBase = 128;  // what a shell adds to a signal's number; its name is shown

Result<ssh::WorkerResult> RunSession(const TerminalDoors& doors, const WorkerAccess& worker,
                                     const std::string& command, std::optional<bool> tty) {
  if (worker.use_openssh) {
    const bool terminal_there = tty.value_or(ssh::LocalTerminal().IsTerminal());
    doors.streams.out << std::flush;
    return ssh::RunShellByProgram(worker, command, terminal_there, doors.environment, doors.stop);
  }
  auto identities = doors.keyring.For(worker.identity_file);
  if (!identities) return identities.error();
  if (const auto warning = ssh::ExitStatusWarning(); !warning.empty()) {
    doors.reporter.ShowWarning(std::string(warning), "");
  }
  ssh::LocalTerminal terminal;
  ssh::ShellOptions shell;
  shell.command = command;
  shell.tty = tty.value_or(terminal.IsTerminal());
  if (const char* term = std::getenv("TERM"); term != nullptr && *term != '\0') shell.term = term;
  std::stop_source end;
  const std::stop_callback on_stop(doors.stop, [&end] { end.request_stop(); });
  std::mutex printing;
  const auto print = [&](const std::string& line) {
    const std::lock_guard lock(printing);
    doors.streams.err << line << "\n" << std::flush;
  };
  LossWatch watch(
      doors.pods, worker.pod, [&end] { end.request_stop(); }, print);
  shell.on_trouble = [&](const std::string& text) {
    print(fmt::format("{}: {}; trying again", worker.Name(), text));
    watch.Trouble();
  };
  auto result = ssh::RunShell(worker, *identities, shell, terminal, doors.clock, doors.random,
                              end.get_token());
  const auto loss = watch.loss();
  if (loss && !doors.stop.stop_requested() && result.outcome != ssh::Outcome::kExited) {
    EndLost(*loss, &result);
  }
  return result;
}

}  // namespace

std::optional<int> RunOnTerminal(const TerminalDoors& doors, const std::string& address,
                                 const WorkerAccess& worker, const std::string& command,
                                 std::optional<bool> tty) {
  const auto session = RunSession(doors, worker, command, tty);
  if (!session) {
    doors.reporter.ShowError("", session.error());
    return std::nullopt;
  }
  const ssh::WorkerResult& result = *session;
  if (result.learned_host_key) {
    doors.pods.Remember(address, {{worker.index, *result.learned_host_key}});
  }
  switch (result.outcome) {
    case ssh::Outcome::kExited:
      return result.exit_code;
    case ssh::Outcome::kSignaled:
      doors.streams.err << fmt::format("{}: ended by signal {}\n", worker.Name(), result.signal);
      return kSignalBase + 1;
    case ssh::Outcome::kCancelled:
      return doors.reporter.interrupted() ? kInterruptedExitCode : kUnheard;
    default:
      doors.reporter.ShowError("", MakeError(ErrorCode::kUnavailable,
                                             fmt::format("{}: {}", worker.Name(), result.message),
                                             doors.pods.SilenceAdvice(worker.pod, {result})));
      return std::nullopt;
  }
}

namespace {

// Exits with the remote side's code, or as every command does that failed when there was no
// session.
int RunSsh(Wiring& wiring, const PodOptions& options) {
  Reporter& reporter = wiring.reporter();
  const KnownPods pods(wiring.pod_doors());
  const auto chosen = pods.Choose(options.pod, options.workers, "0");
  if (!chosen) return reporter.ShowFailure(chosen.error());
  if (chosen->workers.size() != 1) {
    return reporter.ShowFailure(MakeError(ErrorCode::kInvalidArgument,
                                          "a shell is opened on one worker only",
                                          "`podctl exec` runs a command on several."));
  }
  // The program ssh says only that it knows no key.
  const WorkerAccess& worker = chosen->workers.front();
  if (worker.use_openssh && worker.host_keys.empty() && !worker.distrust.empty()) {
    wiring.streams().err << fmt::format("{}: only a known host key is accepted: {}\n",
                                        worker.Name(), worker.distrust);
  }
  std::string command;
  if (!options.command.empty() || !chosen->target.exec_env.empty()) {
    auto words = options.command;
    if (words.empty()) words = {"exec \"${SHELL:-/bin/sh}\" -l"};
    command = RemoteCommand(words, chosen->target.exec_env);
  }
  std::optional<bool> tty = options.tty;
  if (options.command.empty() && !options.tty) tty.reset();
  const TerminalDoors doors{pods,
                            reporter,
                            wiring.streams(),
                            wiring.keyring(),
                            wiring.environment(),
                            wiring.clock(),
                            wiring.random(),
                            wiring.interrupt().drain()};
  return RunOnTerminal(doors, chosen->target.address, worker, command, tty)
      .value_or(reporter.FailedExitCode());
}

constexpr Flag kSshFlags[] = {
    PodArgument<&PodOptions::pod>(),
    WorkerFlag<&PodOptions::workers>("number of the worker (default 0)", "N"),
    WithLetter('t', Switch<&PodOptions::tty>("--tty", "a terminal also for a command")),
    BehindDashes(true, ManyValues<&PodOptions::command>("COMMAND", "",
                                                        "run this instead of a shell, after --")),
};

}  // namespace

const Command commands::kSsh("ssh", "open an interactive shell on one worker", kSshFlags,
                             WithWorld<RunSsh>);

}  // namespace podctl
