#include "cmd/commands/apply.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/autostart.h"
#include "cmd/commands/outputs.h"
#include "cmd/reporter.h"
#include "cmd/views/gathered_steps.h"
#include "cmd/views/jobs_view.h"
#include "cmd/views/snippet.h"
#include "cmd/wiring.h"
#include "plans/engine/executor.h"
#include "plans/engine/plan_digest.h"
#include "plans/engine/plan_file/secrets.h"
#include "plans/fleet/exec/standard_input.h"
#include "plans/session/apply.h"
#include "plans/session/due_jobs.h"
#include "plans/session/pipeline_state.h"
#include "plans/session/plan.h"
#include "plans/session/pod_ends.h"
#include "plans/session/saved_plan.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// 0: go on; otherwise the exit code.
int ApprovePlan(PlanMode mode, bool input, Reporter& reporter, Streams& streams) {
  const bool destroy = mode == PlanMode::kDestroy;
  if (!streams.out) {
    reporter.ShowError(
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
  return Approve(
      {"these actions need to be approved, and there is nobody to ask",
       "Add `--auto-approve` to approve them in advance.", question,
       destroy ? "Destroy cancelled." : "Apply cancelled.", "Interrupted. Nothing was changed."},
      input, reporter, streams);
}

void ShowResult(Reporter& reporter, FileSystem& files, const ExecuteResult& result, bool destroy) {
  reporter.Show(FailureDiagnostics(files, result));
  ShowWarnings(reporter, result);
  if (result.save_error) ShowSaveError(reporter, result);
  if (result.outage) {
    reporter.ShowError("nothing was begun while the state could not be saved",
                       MakeError(result.outage->code, result.outage->message,
                                 "It is saved now. Apply again for what is left to do."));
  }
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

// A saved plan was decided upon; nothing on the command line may change what it says.
std::string ForeignFlag(const ApplyOptions& options) {
  if (!options.targets.empty()) return "--target";
  if (!options.replace.empty()) return "--replace";
  if (!options.refresh) return "--refresh=false";
  if (options.refresh_only) return "--refresh-only";
  return options.destroy ? "--destroy" : "";
}

// Whom the session asks, and whom it tells.
class Applying final : public ApplyListener {
 public:
  struct Settings {
    bool ask = true;                    // about the plan, which else was approved beforehand
    bool input = true;                  // --input
    std::optional<std::string> gather;  // --gather: a folder for what is too much for the memory
  };
  Applying(Reporter& reporter, Streams& streams, Settings settings)
      : reporter_(reporter), streams_(streams), settings_(std::move(settings)) {}

  bool Approve(const PlanRun& run) override {
    if (settings_.ask) {
      code_ = ApprovePlan(run.plan.mode, settings_.input, reporter_, streams_);
    }
    return code_ == 0;
  }
  void OnNoLogin(const Error& why) override { reporter_.Note(why.message); }
  EventSink& OnBegin() override {
    progress_ = reporter_.Progress();
    if (settings_.gather) {
      progress_ = std::make_unique<GatheredSteps>(std::move(progress_), *settings_.gather);
    }
    return *progress_;
  }

  int code() const { return code_; }  // where it was not approved
  void Settle() { progress_.reset(); }

 private:
  Reporter& reporter_;
  Streams& streams_;
  const Settings settings_;
  int code_ = 0;
  std::unique_ptr<EventSink> progress_;
};

// nullopt after having shown why there is none.
std::optional<PlanRun> PlanOf(Reporter& reporter, std::variant<PlanRun, NoPlan> made) {
  if (auto* run = std::get_if<PlanRun>(&made)) return std::move(*run);
  ShowNoPlan(reporter, std::get<NoPlan>(made));
  return std::nullopt;
}

// `ended`: of JobsEnded.
void ShowWhatIsPlanned(Reporter& reporter, const PlanRun& run, bool is_new,
                       const std::vector<std::string>& ended) {
  for (const std::string& note : run.notes) reporter.Note(note);
  if (const auto ends = NoteOnEnds(run.spec)) reporter.Note(*ends);
  if (!run.problems.has_errors()) reporter.TellDigest([&run] { return DigestOf(run); });
  if (is_new) {
    std::vector<std::string> jobs = run.jobs;
    jobs.insert(jobs.end(), ended.begin(), ended.end());
    reporter.ShowPlan(run.plan, run.settled, run.problems.has_errors(), jobs);
  } else {
    for (const std::string& job : ended) reporter.Note(job + ".");
  }
  reporter.Show(run.problems);
}

std::vector<std::string> JobsThatEnd(const StartedOnPods& started, const PlanRun& run) {
  return JobsEnded(run.plan, run.settled,
                   [&](const std::string& pod) { return started.On(pod).Load(); });
}

// Shows why nothing was carried out; the exit code. `state`: as it is.
int EndOfNothing(Reporter& reporter, const ApplyEnd& end, const State& state, int declined,
                 bool destroy) {
  if (end.how == ApplyEnd::How::kDeclined) return declined;
  if (end.how == ApplyEnd::How::kNoAccess) {
    ShowNoAccess(reporter, *end.no_access);
    return reporter.FailedExitCode();
  }
  ShowWarnings(reporter, end.result);
  if (end.result.save_error) {
    ShowSaveError(reporter, end.result);
    return reporter.FailedExitCode();
  }
  ExecuteResult counted;
  counted.added = end.result.added;
  counted.destroyed = end.result.destroyed;
  reporter.ShowSummary(counted, destroy);
  if (!destroy) reporter.ShowOutputs(state);
  return 0;
}

// Threads may hang in a call; everything is on disk, so they are not waited for.
[[noreturn]] void Leave(PlanRun& run, Streams& streams) {
  run.lock.reset();
  streams.err << std::flush;
  _exit(kInterruptedExitCode);
}

// The sensitive variables that the command line gave, of which no plan holds the values; none where
// its apply needs none.
std::vector<std::string> SecretsGiven(const std::map<std::string, std::string>& given,
                                      const Spec& spec, const Plan& plan) {
  std::vector<std::string> names;
  if (!NeedsSecrets(plan)) return names;
  for (const auto& [name, text] : given) {
    const auto variable = spec.variables.find(name);
    if (variable != spec.variables.end() && variable->second.sensitive) names.push_back(name);
  }
  return names;
}

using GitFollows = std::function<std::optional<bool>(const std::string& path)>;

void AddLostState(const Environment& environment, FileSystem& files, const std::string& state,
                  const GitFollows& git_follows, PlanRun* run) {
  const auto lost = WarnOfLostState(environment, files, state, git_follows);
  if (lost) run->problems.Add(*lost);
}

void Judge(const ApplyOptions& options, PlanRun* run) {
  if (options.judge && !run->problems.has_errors()) options.judge(run);
}

}  // namespace

int RunPlan(Wiring& wiring, const ApplyOptions& options) {
  if (options.markdown) wiring.SpeakMarkdown();
  Reporter& reporter = wiring.reporter();
  reporter.Begin();
  PlanPrinter printer(reporter);
  const PlanRequest request = wiring.plan_request(PlanOptionsOf(options));
  // What an earlier plan has left there is none of the files that the new one tells of.
  if (!options.out.empty()) request.load.withheld->AddOwn(options.out);
  // Left to the end of the process: to free a large plan would take as long as to make a part of
  // it.
  static std::optional<PlanRun>& run = *new std::optional<PlanRun>();
  run = PlanOf(reporter, PreparePlan(wiring.plan_doors(), request, printer));
  if (!run) {
    reporter.End();
    return reporter.FailedExitCode();
  }
  const std::string state = wiring.state_choice().For(run->spec);
  AddLostState(
      wiring.environment(), wiring.files(), state,
      [&](const std::string& path) { return wiring.GitFollows(path); }, &*run);
  const StartedOnPods started(wiring.files(), wiring.environment(), state);
  Judge(options, &*run);
  ShowWhatIsPlanned(reporter, *run, true, JobsThatEnd(started, *run));
  const bool sound = !run->problems.has_errors();
  bool saved = options.out.empty();
  if (!saved && sound) {
    const auto kept = SavePlan(
        *run, options.out, {request.load, request.state, wiring.endpoint(), std::string(kVersion)},
        wiring.files(), wiring.clock(), wiring.random());
    if (!kept) reporter.ShowError("the plan could not be saved", kept.error());
    saved = kept.has_value();
  } else if (!saved) {
    reporter.ShowError(
        "", MakeError(ErrorCode::kFailedPrecondition, "a plan with errors cannot be saved"));
  }
  reporter.End();
  if (!sound || !saved) return 1;
  if (!options.out.empty())
    reporter.TellSaved(options.out, SecretsGiven(wiring.options().vars, run->spec, run->plan),
                       DigestOf(*run));
  return options.detailed_exitcode && !run->plan.Empty() ? 2 : 0;
}

namespace {

enum class Reviewed {
  kYes,
  kNothing,  // nothing would be done, but by a spec that is not the reviewed one
  kNo,       // which was shown
};

// An apply without changes takes over what else the spec says: how workers are reached, what is
// protected, which jobs are started. That wants to be reviewed as well.
Reviewed IsAsReviewed(Reporter& reporter, const ApplyOptions& options, const PlanRun& run) {
  if (!options.expect_digest) return Reviewed::kYes;
  if (run.problems.has_errors()) return Reviewed::kYes;  // it is not carried out anyway
  const std::string digest = DigestOf(run);
  if (digest == *options.expect_digest) return Reviewed::kYes;
  if (run.plan.Empty()) return Reviewed::kNothing;
  if (options.expect_digest->empty()) {
    reporter.ShowError(options.refusal,
                       MakeError(ErrorCode::kStalePlan, options.not_reviewed,
                                 fmt::format("Nothing was changed. The plan that would be applied "
                                             "has the digest {}.",
                                             digest)));
    return Reviewed::kNo;
  }
  reporter.ShowError(
      "The plan is not the one that was reviewed",
      MakeError(
          ErrorCode::kStalePlan,
          fmt::format("its digest is {}, and that of the reviewed one is {}", digest,
                      *options.expect_digest),
          "Nothing was changed. Since the review the spec, the state or what is there has "
          "become another one. Read this plan, and give its digest if it is what is wanted."));
  return Reviewed::kNo;
}

}  // namespace

int RunApply(Wiring& wiring, const ApplyOptions& options) {
  const bool is_saved = !options.plan_file.empty();
  Reporter& reporter = wiring.reporter();
  reporter.Begin();
  PlanPrinter printer(reporter);
  PlanRequest request =
      wiring.plan_request(PlanOptionsOf(options), options.destroy ? "destroy" : "apply");
  request.will_log_in = !options.destroy && !options.refresh_only;
  PlanDoors doors = wiring.plan_doors();
  std::string state;  // of a saved plan, which names it
  if (is_saved) {
    doors.open_store = [&](const std::string& path) {
      if (state.empty()) state = path;  // others are read after it, for `stateOf`
      return wiring.OpenStore(path);
    };
  }
  auto run = PlanOf(reporter, is_saved ? PrepareSavedPlan(doors,
                                                          {options.plan_file, ForeignFlag(options),
                                                           wiring.endpoint(), std::move(request)},
                                                          printer)
                                       : PreparePlan(doors, request, printer));
  if (!run) return reporter.FailedExitCode();
  if (!is_saved && !options.destroy) {
    AddLostState(
        wiring.environment(), wiring.files(), wiring.state_choice().For(run->spec),
        [&](const std::string& path) { return wiring.GitFollows(path); }, &*run);
  }
  const StartedOnPods started(wiring.files(), wiring.environment(),
                              wiring.state_choice().For(run->spec));
  Judge(options, &*run);
  ShowWhatIsPlanned(reporter, *run, !is_saved, JobsThatEnd(started, *run));
  const Reviewed reviewed = IsAsReviewed(reporter, options, *run);
  if (reviewed == Reviewed::kNo) return reporter.FailedExitCode();
  if (run->problems.has_errors()) return 1;
  if (reviewed == Reviewed::kNothing) {
    reporter.Note(
        "What else the spec says (ssh, lifecycle, jobs) was not taken over: it is not what was "
        "reviewed.");
    return 0;
  }
  ExecuteOptions execute;
  execute.parallelism = wiring.options().parallelism;
  execute.wait_for_capacity = options.wait;
  Applying::Settings settings{!is_saved && !options.auto_approve, wiring.options().input, {}};
  if (options.gather) settings.gather = ScratchFolder(wiring.environment());
  Applying listener(reporter, wiring.streams(), std::move(settings));
  const bool destroy = run->plan.mode == PlanMode::kDestroy;
  const ApplyEnd end = Apply(wiring.apply_doors(), execute, listener, &*run);
  listener.Settle();
  if (end.how != ApplyEnd::How::kDone) {
    return EndOfNothing(reporter, end, run->settled, listener.code(), destroy);
  }
  ShowResult(reporter, wiring.files(), end.result, destroy);
  const int failed = end.result.save_error ? reporter.FailedExitCode() : 1;
  if (!destroy && end.result.ok()) reporter.ShowOutputs(run->settled);
  if (wiring.interrupt().leave().stop_requested()) Leave(*run, wiring.streams());
  if (!run->plan.targets.empty()) {
    reporter.ShowWarning(
        "Applied changes may be incomplete",
        "The plan was made with `--target`. `podctl plan` shows what is left to do.");
  }
  if (end.result.interrupted) return kInterruptedExitCode;
  run->lock.reset();  // what is started asks the state for its pod
  PodDoors to_pods = wiring.pod_doors();
  if (is_saved) to_pods.open_store = [&] { return wiring.OpenStore(state); };
  const WantedJobsEdit wanted = wiring.wanted_jobs(to_pods.open_store);
  const KnownPods pods(std::move(to_pods));
  TellJobs tell{started, reporter, wiring.streams(),
                [&](const std::string& text) { reporter.Note(text); }};
  tell.remark = [&](const std::string& text) { ShowRemark(wiring.streams(), text); };
  const bool all_started =
      destroy || StartJobsOf(wiring.return_doors(pods, wanted), *run, end.result, tell);
  if (reporter.interrupted()) return kInterruptedExitCode;
  if (!end.result.ok() || !all_started) return failed;
  return options.detailed_exitcode ? 2 : 0;
}

namespace {

// Whether it ended before the first request, as when its first save was refused.
bool HasBegunNothing(const ExecuteResult& result) {
  const std::size_t ended = result.added + result.changed + result.destroyed + result.steps;
  return ended + result.recovered == 0 && result.failures.empty() && result.unfinished.empty() &&
         result.stopped.empty() && result.queued.empty() && !result.interrupted;
}

// What is left by a run that could not save, and what to do with it.
std::string WhatIsLeft(const ExecuteResult& result) {
  if (!result.unsaved && HasBegunNothing(result)) {
    return "Nothing was begun; once the cause is mended, run `podctl apply` again.";
  }
  if (!result.unsaved) {
    return "What was begun is written down in the state as it was last saved; once the cause is "
           "mended, `podctl apply` asks the API and goes on from there.";
  }
  if (result.aside_error) {
    return fmt::format(
        "What this run did since the last save is not written down: {}. The state, as it was last "
        "saved, tells what was begun; once the cause is mended, `podctl apply` asks the API and "
        "goes on from there.",
        result.aside_error->message);
  }
  if (result.save_error->code == ErrorCode::kFailedPrecondition) {
    return fmt::format(
        "What the other run saved stays. What this run knows is written to {0} (`podctl show "
        "{0}`). Run `podctl plan`: it names the nodes that the stored state lacks, and `podctl "
        "import` takes them over; delete that file when nothing is missing. Only if the other "
        "run's state is the wrong one: `podctl state push --force {0}` puts this older view in its "
        "place.",
        ShellQuote(result.saved_aside));
  }
  return fmt::format(
      "What could not be saved is written to {0}. Once the cause is mended, run "
      "`podctl state push {0}`",
      ShellQuote(result.saved_aside));
}

// With how the cause is mended, as far as the place tells. A run that was overtaken is told to run
// again, which is not the first thing to do then.
std::string SaveHint(const ExecuteResult& result) {
  const auto& [code, message, hint] = *result.save_error;
  const bool tells = !hint.empty() && code != ErrorCode::kFailedPrecondition;
  return (tells ? Sentence(hint) + "\n" : "") + WhatIsLeft(result);
}

}  // namespace

Diagnostics FailureDiagnostics(FileSystem& files, const ExecuteResult& result) {
  Diagnostics diagnostics;
  for (const auto& failure : result.failures) {
    Diagnostic diagnostic;
    diagnostic.summary = fmt::format("{}: {}", failure.change.address, failure.error.message);
    diagnostic.place = failure.change.place;
    diagnostic.context = failure.change.address.Text();
    diagnostic.detail = Sentence(failure.error.hint);
    if (!failure.last_lines.empty()) {
      std::string lines = "Last lines of the output:";
      for (const std::string& line : failure.last_lines) lines += "\n  " + VisibleControls(line);
      diagnostic.detail = lines + (diagnostic.detail.empty() ? "" : "\n" + diagnostic.detail);
    }
    diagnostics.Add(std::move(diagnostic));
  }
  return WithSourceLines(files, diagnostics);
}

void ShowSaveError(Reporter& reporter, const ExecuteResult& result) {
  const Error& error = *result.save_error;
  // Another run was first, or has taken the lock over: for a pipeline that is a locked state.
  const bool overtaken = error.code == ErrorCode::kFailedPrecondition;
  reporter.ShowError(
      result.lock_failed ? "the lock of the state could not be kept"
                         : "the state could not be saved",
      MakeError(overtaken ? ErrorCode::kLocked : error.code, error.message, SaveHint(result)));
}

void ShowWarnings(Reporter& reporter, const ExecuteResult& result) {
  Diagnostics diagnostics;
  for (const std::string& warning : result.warnings) {
    Diagnostic diagnostic;
    diagnostic.severity = Severity::kWarning;
    diagnostic.summary = warning;
    diagnostics.Add(std::move(diagnostic));
  }
  reporter.Show(diagnostics);
}

void ShowNoPlan(Reporter& reporter, const NoPlan& none, const Diagnostics& warnings) {
  if (none.why == NoPlan::Why::kInterrupted) {
    return reporter.TellInterrupted(
        none.waited_for_lock ? "Interrupted while waiting for the state lock. Nothing was changed."
                             : "Interrupted. Nothing was changed.");
  }
  Diagnostics all = warnings;
  for (const Diagnostic& problem : none.problems.items()) all.Add(problem);
  if (none.error) all.Add(DiagnosticOf(none.summary, *none.error));
  reporter.Show(all);
  if (none.error) reporter.NoteFailure(none.error->code);
}

void ShowNoAccess(Reporter& reporter, const NoAccess& why) {
  reporter.ShowError(why.no_key ? "no SSH key to reach the new pods with" : "", why.error);
}

std::string PlanConflict(const ApplyOptions& options, const GlobalOptions& global) {
  if (options.gather && global.json) {
    return NotTogether("--gather", "--json", "the events hold each worker's lines");
  }
  if (options.markdown && global.json) {
    return "`--markdown` and `--json` cannot be used together";
  }
  if (options.refresh_only && options.destroy) {
    return "`--refresh-only` and `--destroy` cannot be used together: one changes nothing, the "
           "other deletes everything";
  }
  if (options.refresh_only && !options.refresh) {
    return "`--refresh-only` and `--refresh=false` cannot be used together: nothing would be left "
           "to do";
  }
  if (!options.replace.empty() && (options.refresh_only || options.destroy)) {
    return fmt::format(
        "`--replace` and `{}` cannot be used together: replacing is a part of a normal plan only",
        options.destroy ? "--destroy" : "--refresh-only");
  }
  return {};
}

// ---- The command lines.

constexpr Flag kDestroyFlag = Switch<&ApplyOptions::destroy>("--destroy", "plan the empty spec");
constexpr Flag kRefreshOnlyFlag = Switch<&ApplyOptions::refresh_only>(
    "--refresh-only", "take what the cloud says into the state; change nothing else");
constexpr Flag kTargetFlag =
    Naming(Flag::Names::kPlannedAddress,
           ManyValues<&ApplyOptions::targets>(
               "--target", "ADDRESS", "only this address, and what it depends on; repeatable"));
constexpr Flag kDestroyTargetFlag =
    Naming(Flag::Names::kPlannedAddress,
           ManyValues<&ApplyOptions::targets>(
               "--target", "ADDRESS", "only this address, and what depends on it; repeatable"));
constexpr Flag kRefreshFlag = OneValue<&ApplyOptions::refresh>(
    "--refresh", "true|false", "ask the cloud first; --refresh=false trusts the state");
constexpr Flag kReplaceFlag =
    Naming(Flag::Names::kPlannedAddress,
           ManyValues<&ApplyOptions::replace>("--replace", "ADDRESS",
                                              "make this anew, or run it again; repeatable"));
constexpr Flag kDetailedExitCodeFlag = Switch<&ApplyOptions::detailed_exitcode>(
    "--detailed-exitcode", "exit 2 when there are changes");
constexpr Flag kAutoApproveFlag =
    Switch<&ApplyOptions::auto_approve>("--auto-approve", "do not ask");

constexpr Flag kPlanFlags[] = {
    kDestroyFlag,
    kRefreshOnlyFlag,
    kTargetFlag,
    kRefreshFlag,
    kReplaceFlag,
    kDetailedExitCodeFlag,
    OneValue<&ApplyOptions::out>("--out", "FILE", "save the plan, for `podctl apply FILE`"),
    kMarkdownFlag,
};

const Command commands::kPlan("plan", "show what apply would do", kPlanFlags, WithWorld<RunPlan>,
                              PlanConflict);

std::string ReadDigest(const Flag&, const std::string& text, std::optional<std::string>* target) {
  if (!IsPlanDigest(text)) {
    return "is no digest of a plan: `sha256:` and 64 digits, as `podctl plan --out FILE` shows it";
  }
  *target = text;
  return {};
}

constexpr Flag kApplyFlags[] = {
    kAutoApproveFlag,
    OneValue<&ApplyOptions::expect_digest, ApplyOptions, &ReadDigest>(
        "--expect-digest", "DIGEST", "carry out the plan with this digest, and no other (exit 4)"),
    Switch<&ApplyOptions::wait, ApplyOptions, false>(
        "--no-wait", "leave what is queued in the queue; the next apply goes on"),
    kDestroyFlag,
    kRefreshOnlyFlag,
    kTargetFlag,
    kRefreshFlag,
    kReplaceFlag,
    kDetailedExitCodeFlag,
    Switch<&ApplyOptions::gather>(
        "--gather", "show equal outputs of a step once, with their workers, at its end"),
    OneValue<&ApplyOptions::plan_file>(
        "FILE", "", "a saved plan, which is carried out as it stands, without a question"),
};

const Command commands::kApply("apply", "make the cloud match the spec", kApplyFlags,
                               WithWorld<RunApply>, PlanConflict,
                               // A saved plan knows its own.
                               [](const ApplyOptions& options) {
                                 return options.plan_file.empty();
                               });

constexpr Flag kDestroyFlags[] = {
    kAutoApproveFlag,
    kDestroyTargetFlag,
    kRefreshFlag,
};

const Command commands::kDestroy(
    "destroy", "delete everything podctl made", kDestroyFlags,
    +[](Context& context, const ApplyOptions& given) {
      ApplyOptions options = given;
      options.destroy = true;
      return RunApply(context.wiring(), options);
    });

}  // namespace podctl
