#include "cmd/commands/apply.h"

#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>

#include "cmd/command.h"
#include "cmd/commands/ask.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/execute_report.h"
#include "cmd/commands/plan_flags.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/run/autostart.h"
#include "cmd/commands/saved_plan.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "plans/engine/executor.h"
#include "plans/session/affected_jobs.h"
#include "plans/session/apply.h"

namespace podctl {
namespace {

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
            "  podctl will write down what it found; nothing else is changed.\n"
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

// Whom the session asks, and whom it tells.
class Applying final : public ApplyListener {
 public:
  // `ask`: about the plan, which else was approved when it was saved.
  Applying(Wiring& wiring, const ApplyOptions& options, bool ask)
      : wiring_(wiring), options_(options), ask_(ask) {}

  bool Approve(const PlanRun& run) override {
    if (ask_) code_ = ApprovePlan(wiring_, options_, run.plan.mode);
    return code_ == 0;
  }
  void OnNoLogin(const Error& why) override { wiring_.reporter().Note(why.message); }
  EventSink& OnBegin() override {
    progress_ = wiring_.reporter().Progress();
    return *progress_;
  }

  int code() const { return code_; }  // where it was not approved
  void Settle() { progress_.reset(); }

 private:
  Wiring& wiring_;
  const ApplyOptions& options_;
  const bool ask_;
  int code_ = 0;
  std::unique_ptr<EventSink> progress_;
};

std::variant<PlanRun, NoPlan> PreparePlan(Wiring& wiring, const PlanWishes& wishes) {
  PlanTeller teller(wiring.reporter());
  return PreparePlan(wiring.plan_doors(), wishes, teller);
}

// nullopt after having shown why there is none.
std::optional<PlanRun> PlanOf(Wiring& wiring, std::variant<PlanRun, NoPlan> made) {
  if (auto* run = std::get_if<PlanRun>(&made)) return std::move(*run);
  ShowNoPlan(wiring.reporter(), std::get<NoPlan>(made));
  return std::nullopt;
}

void ShowWhatIsPlanned(Reporter& reporter, const PlanRun& run, bool is_new) {
  for (const std::string& note : run.notes) reporter.Note(note);
  if (is_new) {
    reporter.ShowPlan(run.plan, run.settled, run.problems.has_errors(),
                      JobsAffected(run.spec, run.plan));
  }
  reporter.Show(run.problems);
}

// The exit code of what was carried out.
int End(Wiring& wiring, const ApplyOptions& options, PlanRun& run, const ExecuteResult& result) {
  if (wiring.interrupt().leave().stop_requested()) {
    // Threads may hang in a call; everything is on disk, so they are not waited for.
    run.lock.reset();
    wiring.streams().err << std::flush;
    _exit(kInterruptedExitCode);
  }
  if (!run.plan.targets.empty()) {
    wiring.reporter().ShowWarning(
        "Applied changes may be incomplete",
        "The plan was made with `--target`. `podctl plan` shows what is left to do.");
  }
  if (result.interrupted) return kInterruptedExitCode;
  run.lock.reset();  // what is started asks the state for its pod
  const bool destroy = run.plan.mode == PlanMode::kDestroy;
  const bool started = destroy || StartDueJobs(wiring, run, result);
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  if (!result.ok() || !started) return 1;
  return options.detailed_exitcode ? 2 : 0;
}

}  // namespace

int RunPlan(Wiring& wiring, const ApplyOptions& options) {
  if (options.markdown) wiring.SpeakMarkdown();
  Reporter& reporter = wiring.reporter();
  reporter.Begin();
  // Left to the end of the process: to free a large plan would take as long as to make a part of
  // it.
  static std::optional<PlanRun>& run = *new std::optional<PlanRun>();
  run = PlanOf(wiring, PreparePlan(wiring, WishesFor(wiring, PlanOptionsOf(options))));
  if (!run) {
    reporter.End();
    return wiring.reporter().FailedExitCode();
  }
  ShowWhatIsPlanned(reporter, *run, true);
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
  PlanWishes wishes =
      WishesFor(wiring, PlanOptionsOf(options), options.destroy ? "destroy" : "apply");
  wishes.will_enter = !options.destroy && !options.refresh_only;
  auto run =
      PlanOf(wiring, is_saved ? PrepareSavedPlan(wiring, options) : PreparePlan(wiring, wishes));
  if (!run) return wiring.reporter().FailedExitCode();
  ShowWhatIsPlanned(reporter, *run, !is_saved);
  if (run->problems.has_errors()) return 1;
  const ApplyDoors doors{wiring.entry_doors(),
                         wiring.steps(),
                         wiring.clock(),
                         wiring.random(),
                         wiring.interrupt().drain(),
                         wiring.interrupt().leave()};
  ExecuteOptions execute;
  execute.parallelism = wiring.options().parallelism;
  execute.wait_for_capacity = options.wait;
  Applying listener(wiring, options, !is_saved);
  const bool destroy = run->plan.mode == PlanMode::kDestroy;
  const ApplyEnd end = Apply(doors, execute, listener, &*run);
  listener.Settle();
  switch (end.how) {
    case ApplyEnd::How::kDeclined:
      return listener.code();
    case ApplyEnd::How::kNoWayIn:
      ShowNoWayIn(reporter, *end.no_way_in);
      return wiring.reporter().FailedExitCode();
    case ApplyEnd::How::kNothing:
      ShowWarnings(reporter, end.result);
      if (end.result.save_error) {
        ShowSaveError(reporter, end.result);
        return 1;
      }
      reporter.ShowSummary({}, destroy);
      return 0;
    case ApplyEnd::How::kDone:
      break;
  }
  ShowResult(wiring, end.result, destroy);
  return End(wiring, options, *run, end.result);
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
