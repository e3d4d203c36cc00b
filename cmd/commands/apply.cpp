#include "cmd/commands/apply.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "cmd/command.h"
#include "cmd/commands/ask.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/execute_report.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/plan_flags.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/run/autostart.h"
#include "cmd/commands/saved_plan.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "plans/execute/affected_jobs.h"
#include "plans/execute/executor.h"

namespace podctl {
namespace {

void ShowThePlan(Reporter& reporter, const PlanRun& run) {
  reporter.ShowPlan(run.plan, run.settled, run.problems.has_errors(),
                    JobsAffected(run.spec, run.plan));
}

// 0: go on; otherwise the exit code.
int ApprovePlan(Wiring& wiring, const ApplyOptions& options, PlanMode mode) {
  const bool destroy = mode == PlanMode::kDestroy;
  if (options.auto_approve) return 0;
  if (!wiring.streams().out) {
    wiring.reporter().ShowError(
        "", MakeError(ErrorCode::kIo, "the plan could not be shown, so it is not asked about",
                      "Nothing was changed. Who reads the output must read all of it."));
    return 1;
  }
  const std::string question =
      mode == PlanMode::kRefreshOnly
          ? "\nDo you want to take these changes into the state?\n"
            "  podctl will write down what it found; no pod is changed.\n"
            "  Only 'yes' will be accepted to approve.\n\n"
            "  Enter a value: "
      : destroy ? "\nDo you really want to destroy all of this?\n"
                  "  There is no undo. Only 'yes' will be accepted to confirm.\n\n"
                  "  Enter a value: "
                : "\nDo you want to perform these actions?\n"
                  "  podctl will perform the actions described above.\n"
                  "  Only 'yes' will be accepted to approve.\n\n"
                  "  Enter a value: ";
  return Approve(wiring, {"these actions need to be approved, and there is nobody to ask",
                          "Add `--auto-approve` to approve them in advance.", question,
                          destroy ? "Destroy cancelled." : "Apply cancelled.",
                          "Interrupted. Nothing was changed."});
}

void ShowResult(Wiring& wiring, const ExecuteResult& result, bool destroy) {
  Reporter& reporter = wiring.reporter();
  reporter.Show(FailureDiagnostics(wiring.files(), result));
  ShowWarnings(reporter, result);
  if (result.save_error) ShowSaveError(reporter, result);
  reporter.ShowSummary(result, destroy);
}

PlanOptions PlanOptionsOf(const ApplyOptions& options) {
  PlanOptions plan;
  if (options.destroy) plan.mode = PlanMode::kDestroy;
  if (options.refresh_only) plan.mode = PlanMode::kRefreshOnly;
  plan.targets = options.targets;
  plan.replace = options.replace;
  plan.refresh = options.refresh;
  return plan;
}

// Nothing to send: but what an earlier run left pending, and bookkeeping, may have to be saved.
int SaveQuietly(Wiring& wiring, PlanRun& run) {
  if (run.stored.lineage.empty()) return 0;  // there is no state, and nothing to remember
  const ExecuteOptions options;
  const auto events = wiring.reporter().Progress();
  const Doors doors{*run.provider,  wiring.steps(),  *run.store,
                    wiring.clock(), wiring.random(), run.generation};
  const ExecuteResult result =
      Execute(run.plan, run.settled, run.observation, doors, options, *events,
              wiring.interrupt().drain(), wiring.interrupt().leave());
  ShowWarnings(wiring.reporter(), result);
  if (!result.save_error) return 0;
  ShowSaveError(wiring.reporter(), result);
  return 1;
}

}  // namespace

int RunPlan(Wiring& wiring, const ApplyOptions& options) {
  if (options.markdown) wiring.SpeakMarkdown();
  Reporter& reporter = wiring.reporter();
  reporter.Begin();
  PlanRunOptions prepare;
  prepare.operation = "plan";
  prepare.plan = PlanOptionsOf(options);
  // Left to the end of the process: to free a large plan would take as long as to make a part of
  // it.
  static std::optional<PlanRun>& run = *new std::optional<PlanRun>();
  run = PreparePlan(wiring, prepare);
  if (!run) {
    reporter.End();
    return FailedExitCode(wiring);
  }
  for (const std::string& note : run->notes) reporter.Note(note);
  ShowThePlan(reporter, *run);
  ShowProblems(wiring, *run);
  const bool sound = !run->problems.has_errors();
  const bool saved = options.out.empty() || (sound && SaveThePlan(wiring, *run, options.out));
  if (!sound && !options.out.empty()) {
    reporter.ShowError(
        "", MakeError(ErrorCode::kFailedPrecondition, "a plan with errors cannot be saved"));
  }
  reporter.End();
  if (!sound || !saved) return 1;
  if (!options.out.empty()) reporter.TellSaved(options.out);
  return options.detailed_exitcode && !run->plan.Empty() ? 2 : 0;
}

int RunApply(Wiring& wiring, const ApplyOptions& options) {
  const bool is_saved = !options.plan_file.empty();
  Reporter& reporter = wiring.reporter();
  reporter.Begin();
  PlanRunOptions prepare;
  prepare.operation = options.destroy ? "destroy" : "apply";
  prepare.plan = PlanOptionsOf(options);
  prepare.lock = true;
  prepare.will_enter = !options.destroy && !options.refresh_only;
  auto run = is_saved ? PrepareSavedPlan(wiring, options) : PreparePlan(wiring, prepare);
  if (!run) return FailedExitCode(wiring);
  const bool destroy = run->plan.mode == PlanMode::kDestroy;
  for (const std::string& note : run->notes) reporter.Note(note);
  if (!is_saved) ShowThePlan(reporter, *run);
  ShowProblems(wiring, *run);
  if (run->problems.has_errors()) return 1;
  if (run->plan.Empty()) {
    if (run->plan.mode == PlanMode::kNormal) NameOsLoginUsers(wiring, &run->plan);
    const int saved = SaveQuietly(wiring, *run);
    if (saved != 0) return saved;
    ShowResult(wiring, {}, destroy);
    return 0;
  }
  if (!is_saved) {
    const int code = ApprovePlan(wiring, options, run->plan.mode);
    if (code != 0) return code;
  }
  const bool enters = run->plan.mode == PlanMode::kNormal;
  if (enters && !PrepareToEnter(wiring, &run->plan)) return FailedExitCode(wiring);

  ExecuteOptions execute;
  execute.parallelism = wiring.options().parallelism;
  execute.wait_for_capacity = options.wait;
  std::unique_ptr<EventSink> progress = reporter.Progress();
  const Doors doors{*run->provider, wiring.steps(),  *run->store,
                    wiring.clock(), wiring.random(), run->generation};
  const ExecuteResult result =
      Execute(run->plan, run->settled, run->observation, doors, execute, *progress,
              wiring.interrupt().drain(), wiring.interrupt().leave());
  progress.reset();
  ShowResult(wiring, result, destroy);
  if (wiring.interrupt().leave().stop_requested()) {
    // Threads may hang in a call; everything is on disk, so they are not waited for.
    run->lock.reset();
    wiring.streams().err << std::flush;
    _exit(kInterruptedExitCode);
  }
  if (!run->plan.targets.empty()) {
    reporter.ShowWarning(
        "Applied changes may be incomplete",
        "The plan was made with `--target`. `podctl plan` shows what is left to do.");
  }
  if (result.interrupted) return kInterruptedExitCode;
  run->lock.reset();  // what is started asks the state for its pod
  const bool started = destroy || StartDueJobs(wiring, *run, result);
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  if (!result.ok() || !started) return 1;
  return options.detailed_exitcode ? 2 : 0;
}

constexpr Flag kFlags[] = {
    kAutoApproveFlag,
    PlanFlags::Switch<&ApplyOptions::wait, false>(
        "--no-wait", "leave what is queued in the queue; the next apply goes on"),
    kDestroyFlag,
    kRefreshOnlyFlag,
    kTargetFlag,
    kRefreshFlag,
    kReplaceFlag,
    kDetailedExitCodeFlag,
    PlanFlags::Value<&ApplyOptions::plan_file>(
        "FILE", "", "a saved plan, which is carried out as it stands, without a question"),
};

const CommandOf<ApplyOptions> kCommand("apply", "make the cloud match the spec", kFlags,
                                       WithWorld<RunApply>, PlanConflict,
                                       // A saved plan knows its own.
                                       [](const ApplyOptions& options) {
                                         return options.plan_file.empty();
                                       });

const Command& commands::kApply = kCommand;

}  // namespace podctl
