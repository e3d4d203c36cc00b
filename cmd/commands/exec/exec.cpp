#include "cmd/commands/exec/exec.h"

#include <fmt/format.h>

#include <utility>

#include "cmd/commands/ssh.h"
#include "cmd/reporter.h"
#include "cmd/views/exec_desk.h"
#include "cmd/views/exec_summary.h"
#include "cmd/views/gather_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/exec/choice.h"
#include "plans/fleet/exec/exec.h"
#include "plans/fleet/exec/standard_input.h"
#include "plans/fleet/exec/variables.h"
#include "plans/session/known_pods.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// For what was gathered, after a Ctrl-C.
constexpr std::chrono::seconds kLastWords{2};

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
  bool told =
      run.gatherer() && tell("the outputs could not be gathered", run.gatherer()->trouble());
  told =
      (run.folder() && tell("the outputs could not be written", run.folder()->trouble())) || told;
  return (input && tell("the workers did not get all of the input", input->trouble())) || told;
}

// A Ctrl-C while it is shown ends that; after one before, it may go on for a moment.
void ShowOutputs(const Gatherer& gatherer, bool diff, const Stops& stops, Clock& clock,
                 Streams& streams, bool* interrupted) {
  const auto until = clock.Steady() + kLastWords;
  const bool whole = ShowGathered(streams, gatherer, diff, [&] {
    return *interrupted ? stops.leave.stop_requested() || clock.Steady() >= until
                        : stops.drain.stop_requested();
  });
  *interrupted = stops.drain.stop_requested();
  if (!whole && *interrupted) {
    streams.err << "Interrupted: the rest of the outputs is left out.\n";
  }
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
    streams.err << fmt::format("The outputs are in {}, what came of it in {}.\n", run.output_dir(),
                               OutputFolder::RecordPath(run.output_dir()));
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
  const Stops stops = wiring.stops();
  ExecDesk::Wishes shown;
  shown.lines = !run.TakesOutput();
  shown.stops = stops;
  ExecDesk desk(streams, wiring.clock(), std::move(shown));
  run.Run(wiring.ssh(), desk, stops);
  pods.Remember(address, LearnedKeys(run.outcome()));
  ExecOutcome outcome = run.outcome();
  if (run.gatherer() && !run.gatherer()->trouble()) {
    ShowOutputs(*run.gatherer(), exec.diff, stops, wiring.clock(), streams, &outcome.interrupted);
  }
  const bool trouble = TellTrouble(run, input.get(), reporter);
  return Report(run, outcome, trouble, pods, reporter, streams);
}

}  // namespace podctl
