#include "cmd/commands/exec/exec.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cmd/commands/exec/choice.h"
#include "cmd/commands/exec/gather.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_target.h"
#include "cmd/commands/refused_key.h"
#include "cmd/commands/ssh.h"
#include "cmd/views/exec_desk.h"
#include "cmd/views/exec_summary.h"
#include "plans/fleet/exec/last_run.h"
#include "plans/fleet/exec/output_folder.h"
#include "plans/fleet/exec/standard_input.h"
#include "plans/fleet/exec/variables.h"
#include "plans/fleet/farewell_limit.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using ssh::Job;

// For a worker that is READY but does not answer yet; somebody is watching, so not for minutes.
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kTick{50};
// For what was gathered, after a Ctrl-C.
constexpr std::chrono::seconds kLastWords{2};

ssh::Limits LimitsOf(const ExecOptions& exec, std::size_t workers) {
  ssh::Limits limits;
  limits.command = exec.timeout;
  limits.retry = kPatience;
  if (exec.batch) {
    limits.max_open = std::max(1, exec.batch->Of(workers));
    limits.max_failures = 0;
  }
  if (exec.max_failures) limits.max_failures = exec.max_failures->Of(workers);
  if (exec.fail_fast) limits.max_failures = 0;
  return limits;
}

// What to type for those that were not ok.
std::string RetryCommand(const ExecRecord& record, const std::string& pod,
                         const std::string& folder) {
  std::string text = fmt::format("podctl exec {} --retry-failed {}", pod,
                                 folder.empty() ? "last" : ShellQuote(folder));
  for (const std::string& name : record.env) text += " --env " + name;
  return text;
}

// One run of a command on the chosen workers, from what was asked for to the exit code.
class ExecRun {
 public:
  ExecRun(Wiring& wiring, const ExecOptions& exec, PodTarget target, ExecChoice choice)
      : wiring_(wiring), exec_(exec), target_(std::move(target)), choice_(std::move(choice)) {}

  Result<void> Prepare();
  int Run();

 private:
  void Execute();
  void ShowGathered();
  int Report(std::chrono::milliseconds elapsed);
  bool TellTrouble();
  void Keep();

  Wiring& wiring_;
  const ExecOptions& exec_;
  const PodTarget target_;
  ExecChoice choice_;
  ExecRecord record_;
  ExecOutcome outcome_;
  std::unique_ptr<StandardInput> input_;
  std::unique_ptr<Gatherer> gatherer_;
  std::unique_ptr<OutputFolder> folder_;
  std::unique_ptr<SinkPair> both_;
  std::unique_ptr<LastRun> last_;
};

Result<void> ExecRun::Prepare() {
  auto variables = ReadVariables(exec_.env, wiring_.environment());
  if (!variables) return variables.error();
  if (!exec_.no_stdin) input_ = StandardInput::OfThisProcess(ScratchFolder(wiring_.environment()));
  if (choice_.earlier && choice_.earlier->input && !input_ && !exec_.no_stdin) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     "the earlier run gave its workers standard input, which is not kept",
                     "Give it again, or `-n` to do without.");
  }
  const std::string command =
      CommandWithVariables(RemoteCommand(choice_.command, target_.exec_env), *variables);
  const std::string line = VariablesLine(*variables);
  const auto first_line = line.empty() ? nullptr : std::make_shared<const std::string>(line);
  for (const WorkerAccess& worker : choice_.workers) {
    outcome_.jobs.push_back({worker, ExportLine(worker.env) + command, first_line, input_.get()});
  }

  record_ = choice_.earlier.value_or(ExecRecord{});
  if (!choice_.earlier) {
    record_.pod = target_.address;
    record_.command = choice_.command;
    for (const Job& job : outcome_.jobs) record_.workers.push_back(job.worker.index);
  }
  record_.env.clear();
  for (const auto& [name, value] : *variables) record_.env.push_back(name);
  record_.started = FormatTimestamp(wiring_.clock().Now());
  record_.ended.clear();
  for (const Job& job : outcome_.jobs) record_.results.erase(job.worker.index);

  if (exec_.gather || exec_.diff) {
    gatherer_ = std::make_unique<Gatherer>(outcome_.jobs, ScratchFolder(wiring_.environment()));
  }
  if (!choice_.output_dir.empty()) {
    const bool replace = exec_.overwrite || choice_.into_earlier;
    auto folder =
        OutputFolder::Open(outcome_.jobs, wiring_.files(), choice_.output_dir,
                           replace ? OutputFolder::Found::kReplace : OutputFolder::Found::kRefuse);
    if (!folder) return folder.error();
    folder_ = *std::move(folder);
  }
  if (gatherer_ && folder_) both_ = std::make_unique<SinkPair>(*gatherer_, *folder_);
  last_ = std::make_unique<LastRun>(wiring_.files(), wiring_.environment(), wiring_.StatePath(),
                                    target_.address);
  Keep();
  if (folder_ && folder_->trouble()) return *folder_->trouble();
  return {};
}

void ExecRun::Keep() {
  record_.input = input_ && !input_->empty();
  if (folder_) folder_->Save(record_);
  last_->Save(record_);
}

int ExecRun::Run() {
  const auto began = wiring_.clock().Steady();
  Execute();
  return Report(
      std::chrono::duration_cast<std::chrono::milliseconds>(wiring_.clock().Steady() - began));
}

void ExecRun::Execute() {
  ExecDesk::Wishes wishes;
  wishes.json = wiring_.options().json;
  wishes.sink = both_       ? static_cast<OutputSink*>(both_.get())
                : gatherer_ ? static_cast<OutputSink*>(gatherer_.get())
                            : folder_.get();
  if (folder_) {
    wishes.complete = [this](std::size_t job, WorkerEntry& entry) { folder_->Name(job, entry); };
  }
  wishes.keep = [this] { Keep(); };
  wishes.interrupted = wiring_.interrupt().drain();
  wishes.left = wiring_.interrupt().leave();
  std::stop_source stop;
  const std::stop_callback on_drain(wiring_.interrupt().drain(), [&stop] { stop.request_stop(); });
  ExecDesk desk(wiring_.streams(), outcome_.jobs, record_, wiring_.clock(), std::move(wishes),
                stop);
  FarewellLimit farewell(wiring_.interrupt().leave(), wiring_.clock());
  {
    const std::jthread ticker([&](const std::stop_token& end) {
      while (wiring_.clock().SleepFor(kTick, end)) {
        desk.Tick();
        farewell.Tick(stop.stop_requested());
      }
    });
    ssh::Limits limits = LimitsOf(exec_, outcome_.jobs.size());
    farewell.SetOn(limits, kEndingGrace);
    outcome_.results = wiring_.ssh().Run(outcome_.jobs, limits, desk, stop.get_token());
  }
  desk.Finish();
  outcome_.interrupted = wiring_.interrupt().requested();

  std::map<int, HostKeyText> learned;
  for (std::size_t i = 0; i < outcome_.results.size(); ++i) {
    const auto& key = outcome_.results[i].learned_host_key;
    if (key) learned[outcome_.jobs[i].worker.index] = *key;
  }
  RememberHostKeys(wiring_, target_.address, learned);
}

// What the machine that podctl runs on refused: a full disk above all.
bool ExecRun::TellTrouble() {
  const auto tell = [&](const std::string& what, const std::optional<Error>& trouble) {
    if (trouble) ShowError(wiring_, nullptr, what, *trouble);
    return trouble.has_value();
  };
  bool told = gatherer_ && tell("the outputs could not be gathered", gatherer_->trouble());
  told = (folder_ && tell("the outputs could not be written", folder_->trouble())) || told;
  return (input_ && tell("the workers did not get all of the input", input_->trouble())) || told;
}

// A Ctrl-C while it is shown ends that; after one before, it may go on for a moment.
void ExecRun::ShowGathered() {
  if (!gatherer_ || gatherer_->trouble()) return;
  Clock& clock = wiring_.clock();
  const Interrupt& interrupt = wiring_.interrupt();
  const auto until = clock.Steady() + kLastWords;
  const bool whole = gatherer_->Show(wiring_.streams(), exec_.diff, [&] {
    return outcome_.interrupted ? interrupt.leave().stop_requested() || clock.Steady() >= until
                                : interrupt.requested();
  });
  outcome_.interrupted = interrupt.requested();
  if (!whole && outcome_.interrupted) {
    wiring_.streams().err << "Interrupted: the rest of the outputs is left out.\n";
  }
}

int ExecRun::Report(std::chrono::milliseconds elapsed) {
  Streams& streams = wiring_.streams();
  const bool json = wiring_.options().json;
  ShowGathered();
  const bool trouble = TellTrouble();
  int code = ExecExitCode(outcome_);
  if (trouble && code == 0) code = 1;
  if (json) {
    streams.out << ToJson(ExecSummaryEvent(outcome_, code, elapsed)) << '\n' << std::flush;
  }
  // main() says why, where anybody can be told.
  if (!streams.out && !outcome_.interrupted) return 1;
  if (json) return code;
  const std::string& pod = outcome_.jobs.front().worker.pod;
  const bool shown = !folder_ || gatherer_;
  const bool one = shown && outcome_.jobs.size() == 1;
  streams.err << ExecSummary(outcome_, one ? "" : RetryCommand(record_, pod, choice_.output_dir),
                             shown);
  const std::string advice = SilenceAdvice(wiring_, pod, outcome_.results);
  if (!advice.empty()) streams.err << advice << "\n";
  if (folder_ && !folder_->trouble()) {
    streams.err << fmt::format("The outputs are in {}, what came of it in {}.\n",
                               choice_.output_dir, OutputFolder::RecordPath(choice_.output_dir));
  }
  return code;
}

int RunOnOneTerminal(Wiring& wiring, const PodTarget& target, const ExecChoice& choice,
                     const ExecOptions& exec) {
  if (choice.workers.size() != 1) {
    return ShowFailure(wiring, MakeError(ErrorCode::kInvalidArgument,
                                         fmt::format("`--tty` is for one worker, and {} are chosen",
                                                     choice.workers.size()),
                                         "Choose one: `--worker 0`."));
  }
  auto variables = ReadVariables(exec.env, wiring.environment());
  if (!variables) return ShowFailure(wiring, variables.error());
  Variables all = target.exec_env;
  all.insert(choice.workers.front().env.begin(), choice.workers.front().env.end());
  for (const auto& [name, value] : *variables) all[name] = value;
  return RunOnTerminal(wiring, target, choice.workers.front(), RemoteCommand(choice.command, all),
                       true)
      .value_or(FailedExitCode(wiring));
}

}  // namespace

int RunExec(Wiring& wiring, const PodOptions& options, const ExecOptions& exec) {
  auto target = FindPod(wiring, options.pod);
  if (!target) return ShowFailure(wiring, target.error());
  auto choice = ChooseWork(wiring, *target, options, exec);
  if (!choice) return ShowFailure(wiring, choice.error());
  if (choice->workers.empty()) {
    wiring.streams().err << "Nothing to run again: the command ended with 0 on every worker.\n";
    return 0;
  }
  if (options.tty) return RunOnOneTerminal(wiring, *target, *choice, exec);
  ExecRun run(wiring, exec, *std::move(target), *std::move(choice));
  if (auto ready = run.Prepare(); !ready) return ShowFailure(wiring, ready.error());
  return run.Run();
}

}  // namespace podctl
