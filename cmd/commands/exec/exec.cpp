// `podctl exec POD -- COMMAND`: one command on many workers.
#include "plans/fleet/exec/exec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "cmd/command.h"
#include "cmd/commands/jobs.h"
#include "cmd/commands/outputs.h"
#include "cmd/commands/ssh.h"
#include "cmd/reporter.h"
#include "cmd/views/exec_output.h"
#include "cmd/views/exec_progress.h"
#include "cmd/views/gather_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/exec/request.h"
#include "plans/fleet/exec/standard_input.h"
#include "plans/session/known_pods.h"
#include "plans/session/loss_watch.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// What to type for those that were not ok.
std::string RetryCommand(const ExecRecord& record, const std::string& pod,
                         const std::string& folder) {
  std::string text = fmt::format("podctl exec {} --retry-failed {}", pod,
                                 folder.empty() ? "last" : ShellQuote(folder));
  for (const std::string& name : record.env) text += " --env " + name;
  return text;
}

// What the machine that podctl runs on refused: a full disk above all.
bool TellTrouble(const ExecRun& run, const StandardInput* input, Reporter& reporter) {
  const auto tell = [&](const std::string& what, const std::optional<Error>& trouble) {
    if (trouble) reporter.ShowError(what, *trouble);
    return trouble.has_value();
  };
  bool reported =
      run.gatherer() && tell("the outputs could not be gathered", run.gatherer()->trouble());
  reported = (run.folder() && tell("the outputs could not be written", run.folder()->trouble())) ||
             reported;
  return (input && tell("the workers did not get all of the input", input->trouble())) || reported;
}

// `trouble`: some was told.
int Report(const ExecRun& run, const ExecOutcome& outcome, bool trouble, const KnownPods& pods,
           Reporter& reporter, Streams& streams) {
  int code = ExecExitCode(outcome);
  if (trouble && code == 0) code = 1;
  const bool said = reporter.Event([&] { return ExecSummaryEvent(outcome, code, run.elapsed()); });
  // main() says why, where anybody can be told.
  if (!streams.out && !outcome.interrupted) return 1;
  if (said) return code;
  const std::string& pod = outcome.jobs.front().worker.pod;
  const bool shown = !run.folder() || run.gatherer();
  const bool one = shown && outcome.jobs.size() == 1;
  streams.err << ExecSummary(outcome, one ? "" : RetryCommand(run.record(), pod, run.output_dir()),
                             shown);
  const std::string advice = pods.SilenceAdvice(pod, outcome.results);
  if (!advice.empty()) streams.err << advice << "\n";
  if (run.folder() && !run.folder()->trouble()) {
    streams.err << WhereOutputsAre(run.output_dir());
  }
  return code;
}

}  // namespace

int RunExec(Wiring& wiring, const PodOptions& options, const ExecOptions& exec) {
  Reporter& reporter = wiring.reporter();
  Streams& streams = wiring.streams();
  const KnownPods pods(wiring.pod_doors());
  auto target = pods.Find(options.pod);
  if (!target) return reporter.ShowFailure(target.error());
  const std::string address = target->address;
  LastRun last(wiring.files(), wiring.environment(), wiring.StatePath(), address);
  auto choice = ChooseWork(wiring.files(), last, *target, options, exec);
  if (!choice) return reporter.ShowFailure(choice.error());
  if (choice->workers.empty()) {
    streams.err << "Nothing to run again: the command ended with 0 on every worker.\n";
    return 0;
  }
  if (options.tty && choice->workers.size() != 1) {
    return reporter.ShowFailure(MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("`--tty` is for one worker, and {} are chosen", choice->workers.size()),
        "Choose one: `--worker 0`."));
  }
  auto variables = ReadVariables(exec.env, wiring.environment());
  if (!variables) return reporter.ShowFailure(variables.error());
  if (options.tty) {
    const WorkerAccess& worker = choice->workers.front();
    variables->insert(target->exec_env.begin(), target->exec_env.end());
    variables->insert(worker.env.begin(), worker.env.end());
    const TerminalDoors doors{pods,
                              reporter,
                              streams,
                              wiring.keyring(),
                              wiring.environment(),
                              wiring.clock(),
                              wiring.random(),
                              wiring.interrupt().drain()};
    return RunOnTerminal(doors, address, worker, RemoteCommand(choice->command, *variables), true)
        .value_or(reporter.FailedExitCode());
  }
  const std::string scratch = ScratchFolder(wiring.environment());
  const auto input = exec.no_stdin ? nullptr : StandardInput::OfThisProcess(scratch);
  if (choice->earlier && choice->earlier->input && !input && !exec.no_stdin) {
    return reporter.ShowFailure(
        MakeError(ErrorCode::kFailedPrecondition,
                  "the earlier run gave its workers standard input, which is not kept",
                  "Give it again, or `-n` to do without."));
  }
  ExecRun run(wiring.files(), wiring.clock(), last, exec, *std::move(target), *std::move(choice),
              *std::move(variables), input.get(), scratch);
  if (auto ready = run.Prepare(); !ready) return reporter.ShowFailure(ready.error());
  const StopTokens stops = wiring.stops();
  ExecDisplay::Settings shown;
  shown.lines = !run.TakesOutput();
  shown.stops = stops;
  shown.timestamps = exec.timestamps;
  ExecDisplay display(streams, wiring.clock(), std::move(shown));
  LossAwareTransport ssh(wiring.ssh(), pods);
  run.Run(ssh, display, stops);
  pods.Remember(address, LearnedKeys(run.outcome()));
  ExecOutcome outcome = run.outcome();
  if (run.gatherer() && !run.gatherer()->trouble()) {
    ShowOutputs(*run.gatherer(), exec.diff, stops, wiring.clock(), streams, &outcome.interrupted);
  }
  const bool trouble = TellTrouble(run, input.get(), reporter);
  return Report(run, outcome, trouble, pods, reporter, streams);
}

// ---- The command line of `podctl exec`.

namespace {

constexpr int kMostWorkers = 99'999;

// As a shell takes it for a name (POSIX.1-2017, 3.235).
bool IsVariableName(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

std::string SetEnvironment(const Flag&, std::any& options, const Flag::Words& words) {
  for (const std::string& word : words) {
    if (IsVariableName(std::string_view(word).substr(0, word.find('=')))) continue;
    // What stands there may be a value, and a secret.
    return "wants NAME=VALUE, or NAME for its value here; a name is letters, digits and _";
  }
  std::any_cast<ExecLine&>(options).env = words;
  return {};
}

// Flags that do not go together: what is wrong, or "".
std::string ExecConflict(const ExecLine& exec, const GlobalOptions& global) {
  const bool json = global.json;
  if (exec.command.empty() && exec.retry_failed.empty()) {
    return "`podctl exec` needs more: podctl exec POD [flags] -- COMMAND…";
  }
  if (exec.fail_fast && exec.max_failures) {
    return NotTogether("--fail-fast", "--max-failures", "one is the other with 0");
  }
  if (std::string conflict = OutputConflict(exec, json); !conflict.empty()) return conflict;
  if (exec.timestamps && !exec.output_dir.empty()) {
    return NotTogether("--timestamps", "--output-dir", "the files hold what comes, byte by byte");
  }
  const bool gather = exec.gather || exec.diff;
  const std::pair<bool, std::string_view> not_of_a_job[] = {
      {exec.tty, "--tty"},
      {gather, exec.diff ? "--diff" : "--gather"},
      {!exec.output_dir.empty(), "--output-dir"},
      {!exec.retry_failed.empty(), "--retry-failed"},
      {exec.batch.has_value(), "--batch"},
      {exec.timeout.count() > 0, "--timeout"},
      {exec.max_failures.has_value(), "--max-failures"},
      {exec.fail_fast, "--fail-fast"},
      {exec.timestamps, "--timestamps"},
  };
  for (const auto& [given, flag] : not_of_a_job) {
    if (!exec.detach.empty() && given) {
      return NotTogether("--detach", flag,
                         "a job starts everywhere, and `podctl logs` shows the rest");
    }
  }
  const std::pair<bool, std::string_view> not_on_a_terminal[] = {
      {json, "--json"},
      {gather, exec.diff ? "--diff" : "--gather"},
      {!exec.output_dir.empty(), "--output-dir"},
      {!exec.retry_failed.empty(), "--retry-failed"},
      {exec.batch.has_value(), "--batch"},
      {exec.timeout.count() > 0, "--timeout"},
      {exec.timestamps, "--timestamps"},
  };
  for (const auto& [given, flag] : not_on_a_terminal) {
    if (exec.tty && given) {
      return NotTogether("--tty", flag, "a terminal is for one worker and for somebody before it");
    }
  }
  return {};
}

constexpr Flag kExecFlags[] = {
    PodArgument<&ExecLine::pod, ExecLine>(),
    WorkerFlag<&ExecLine::workers, ExecLine>(),
    GatherFlag<ExecLine>(),
    DiffFlag<ExecLine>(),
    OutputDirFlag<ExecLine>(),
    OverwriteFlag<ExecLine>(),
    TimestampsFlag<&ExecLine::timestamps, ExecLine>(),
    OneValue<&ExecLine::retry_failed, ExecLine>(
        "--retry-failed", "DIR|last",
        "only the workers that failed in DIR's results, or in the last run"),
    Within(1, kMostWorkers,
           OneValue<&ExecLine::batch, ExecLine>("--batch", "N|P%",
                                                "so many workers at a time; none after a failure")),
    Within(0, kMostWorkers,
           OneValue<&ExecLine::max_failures, ExecLine>(
               "--max-failures", "N|P%", "start no more workers after more failures than this")),
    Switch<&ExecLine::fail_fast, ExecLine>("--fail-fast", "the same as --max-failures 0"),
    OneValue<&ExecLine::timeout, ExecLine>("--timeout", "DURATION",
                                           "end the command after this long"),
    {.name = "--env",
     .takes = Flag::Takes::kWords,
     .value = "NAME[=VALUE]",
     .help = "set a variable for the command; NAME alone: as it is here; repeatable",
     .set = SetEnvironment},
    OneValue<&ExecLine::detach, ExecLine>(
        "--detach", "NAME", "start it as a job of this name that outlives the connection"),
    WithLetter('n',
               Switch<&ExecLine::no_stdin, ExecLine>("--no-stdin", "leave standard input alone")),
    WithLetter('t', Switch<&ExecLine::tty, ExecLine>("--tty",
                                                     "a terminal for the command, on one worker")),
    BehindDashes(true,
                 ManyValues<&ExecLine::command, ExecLine>("COMMAND", "", "the command, after --")),
};

}  // namespace

const Command commands::kExec(
    "exec", "run a command on a pod's workers", kExecFlags,
    +[](Context& context, const ExecLine& line) {
      return line.detach.empty() ? RunExec(context.wiring(), line, line)
                                 : RunDetach(context.wiring(), line, line);
    },
    ExecConflict);

}  // namespace podctl
