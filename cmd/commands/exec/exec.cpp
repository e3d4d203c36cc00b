#include "cmd/commands/exec/exec.h"

#include <fmt/format.h>

#include <utility>

#include "cmd/commands/pod_target.h"
#include "cmd/commands/refused_key.h"
#include "cmd/commands/ssh.h"
#include "cmd/reporter.h"
#include "cmd/views/exec_desk.h"
#include "cmd/views/exec_summary.h"
#include "cmd/views/gather_view.h"
#include "plans/fleet/exec/choice.h"
#include "plans/fleet/exec/exec.h"
#include "plans/fleet/exec/standard_input.h"
#include "plans/fleet/exec/variables.h"
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
bool TellTrouble(Wiring& wiring, const ExecRun& run, const StandardInput* input) {
  const auto tell = [&](const std::string& what, const std::optional<Error>& trouble) {
    if (trouble) wiring.reporter().ShowError(what, *trouble);
    return trouble.has_value();
  };
  bool told =
      run.gatherer() && tell("the outputs could not be gathered", run.gatherer()->trouble());
  told =
      (run.folder() && tell("the outputs could not be written", run.folder()->trouble())) || told;
  return (input && tell("the workers did not get all of the input", input->trouble())) || told;
}

// A Ctrl-C while it is shown ends that; after one before, it may go on for a moment.
void ShowOutputs(Wiring& wiring, const Gatherer& gatherer, bool diff, bool* interrupted) {
  Clock& clock = wiring.clock();
  const Interrupt& interrupt = wiring.interrupt();
  const auto until = clock.Steady() + kLastWords;
  const bool whole = ShowGathered(wiring.streams(), gatherer, diff, [&] {
    return *interrupted ? interrupt.leave().stop_requested() || clock.Steady() >= until
                        : interrupt.requested();
  });
  *interrupted = interrupt.requested();
  if (!whole && *interrupted) {
    wiring.streams().err << "Interrupted: the rest of the outputs is left out.\n";
  }
}

int Report(Wiring& wiring, const ExecRun& run, bool diff, const StandardInput* input) {
  Streams& streams = wiring.streams();
  ExecOutcome outcome = run.outcome();
  if (run.gatherer() && !run.gatherer()->trouble()) {
    ShowOutputs(wiring, *run.gatherer(), diff, &outcome.interrupted);
  }
  const bool trouble = TellTrouble(wiring, run, input);
  int code = ExecExitCode(outcome);
  if (trouble && code == 0) code = 1;
  const bool said =
      wiring.reporter().Event([&] { return ExecSummaryEvent(outcome, code, run.elapsed()); });
  // main() says why, where anybody can be told.
  if (!streams.out && !outcome.interrupted) return 1;
  if (said) return code;
  const std::string& pod = outcome.jobs.front().worker.pod;
  const bool shown = !run.folder() || run.gatherer();
  const bool one = shown && outcome.jobs.size() == 1;
  streams.err << ExecSummary(outcome, one ? "" : RetryCommand(run.record(), pod, run.output_dir()),
                             shown);
  const std::string advice = SilenceAdvice(wiring, pod, outcome.results);
  if (!advice.empty()) streams.err << advice << "\n";
  if (run.folder() && !run.folder()->trouble()) {
    streams.err << fmt::format("The outputs are in {}, what came of it in {}.\n", run.output_dir(),
                               OutputFolder::RecordPath(run.output_dir()));
  }
  return code;
}

int RunOnAll(Wiring& wiring, const ExecOptions& exec, LastRun& last, PodTarget target,
             ExecChoice choice) {
  auto variables = ReadVariables(exec.env, wiring.environment());
  if (!variables) return wiring.reporter().ShowFailure(variables.error());
  const std::string scratch = ScratchFolder(wiring.environment());
  const auto input = exec.no_stdin ? nullptr : StandardInput::OfThisProcess(scratch);
  if (choice.earlier && choice.earlier->input && !input && !exec.no_stdin) {
    return wiring.reporter().ShowFailure(
        MakeError(ErrorCode::kFailedPrecondition,
                  "the earlier run gave its workers standard input, which is not kept",
                  "Give it again, or `-n` to do without."));
  }
  const std::string address = target.address;
  ExecRun run(wiring.files(), wiring.clock(), last, exec, std::move(target), std::move(choice),
              *std::move(variables), input.get(), scratch);
  if (auto ready = run.Prepare(); !ready) return wiring.reporter().ShowFailure(ready.error());
  const Stops stops{wiring.interrupt().drain(), wiring.interrupt().leave()};
  ExecDesk::Wishes shown;
  shown.lines = !run.TakesOutput();
  shown.stops = stops;
  ExecDesk desk(wiring.streams(), wiring.clock(), std::move(shown));
  run.Run(wiring.ssh(), desk, stops);
  RememberHostKeys(wiring, address, LearnedKeys(run.outcome()));
  return Report(wiring, run, exec.diff, input.get());
}

int RunOnOneTerminal(Wiring& wiring, const PodTarget& target, const ExecChoice& choice,
                     const ExecOptions& exec) {
  if (choice.workers.size() != 1) {
    return wiring.reporter().ShowFailure(MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("`--tty` is for one worker, and {} are chosen", choice.workers.size()),
        "Choose one: `--worker 0`."));
  }
  auto variables = ReadVariables(exec.env, wiring.environment());
  if (!variables) return wiring.reporter().ShowFailure(variables.error());
  Variables all = target.exec_env;
  all.insert(choice.workers.front().env.begin(), choice.workers.front().env.end());
  for (const auto& [name, value] : *variables) all[name] = value;
  return RunOnTerminal(wiring, target, choice.workers.front(), RemoteCommand(choice.command, all),
                       true)
      .value_or(wiring.reporter().FailedExitCode());
}

}  // namespace

int RunExec(Wiring& wiring, const PodOptions& options, const ExecOptions& exec) {
  auto target = FindPod(wiring, options.pod);
  if (!target) return wiring.reporter().ShowFailure(target.error());
  LastRun last(wiring.files(), wiring.environment(), wiring.StatePath(), target->address);
  auto choice = ChooseWork(wiring.files(), last, *target, options, exec);
  if (!choice) return wiring.reporter().ShowFailure(choice.error());
  if (choice->workers.empty()) {
    wiring.streams().err << "Nothing to run again: the command ended with 0 on every worker.\n";
    return 0;
  }
  if (options.tty) return RunOnOneTerminal(wiring, *target, *choice, exec);
  return RunOnAll(wiring, exec, last, *std::move(target), *std::move(choice));
}

}  // namespace podctl
