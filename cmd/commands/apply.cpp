#include "cmd/commands/apply.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
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
#include "cmd/views/json_events.h"
#include "cmd/views/markdown.h"
#include "cmd/views/paint.h"
#include "cmd/views/plan_view.h"
#include "cmd/views/progress.h"
#include "cmd/views/snippet.h"
#include "plans/execute/affected_jobs.h"
#include "plans/execute/executor.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

void ShowNotes(Wiring& wiring, JsonEvents* json, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (json != nullptr) {
      json->Log("info", note);
    } else {
      wiring.streams().err << note << "\n";
    }
  }
}

void ShowThePlan(Wiring& wiring, JsonEvents* json, const PlanRun& run) {
  const std::string jobs = JobsText(JobsAffected(run.spec, run.plan));
  if (json != nullptr) {
    json->ShowPlan(run.plan, run.settled);
    if (!jobs.empty()) json->Log("info", jobs);
    return;
  }
  Streams& streams = wiring.streams();
  PlanViewOptions view;
  view.color = streams.color && streams.out_is_terminal;
  view.destroy = run.plan.mode == PlanMode::kDestroy;
  view.failed = run.problems.has_errors();
  streams.out << ShowPlan(run.plan, view) << (jobs.empty() ? "" : "\n" + jobs + "\n") << std::flush;
}

// 0: go on; otherwise the exit code.
int ApprovePlan(Wiring& wiring, JsonEvents* json, const ApplyOptions& options, PlanMode mode) {
  const bool destroy = mode == PlanMode::kDestroy;
  if (options.auto_approve) return 0;
  if (!wiring.streams().out) {
    ShowError(wiring, json, "",
              MakeError(ErrorCode::kIo, "the plan could not be shown, so it is not asked about",
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
  return Approve(
      wiring, json,
      {"these actions need to be approved, and there is nobody to ask",
       "Add `--auto-approve` to approve them in advance.", question,
       destroy ? "Destroy cancelled." : "Apply cancelled.", "Interrupted. Nothing was changed."});
}

// What was not done, by the failure at the root of it.
std::string SkippedText(const ExecuteResult& result) {
  constexpr std::size_t kMostNamed = 100;
  std::vector<Address> causes;  // in the order in which they came
  std::map<Address, std::vector<std::string>> skipped;
  for (const auto& skip : result.skipped) {
    std::vector<std::string>& addresses = skipped[skip.cause];
    if (addresses.empty()) causes.push_back(skip.cause);
    addresses.push_back(skip.address.Text());
  }
  std::string text;
  for (const Address& cause : causes) {
    std::vector<std::string>& addresses = skipped[cause];
    const std::size_t count = addresses.size();
    std::string more;
    if (count > kMostNamed) {
      more = fmt::format(", … and {} more", count - kMostNamed);
      addresses.resize(kMostNamed);
    }
    const std::string names = Join(addresses, ", ") + more;
    const std::string why = cause.empty() ? "the run ended early" : fmt::format("{} failed", cause);
    text += count == 1
                ? fmt::format("{} was skipped, because {}.\n", names, why)
                : fmt::format("{} changes were skipped, because {}: {}.\n", count, why, names);
  }
  return text;
}

// What waits in the queue, as the user wished.
std::string QueuedText(const ExecuteResult& result) {
  if (result.queued.empty()) return {};
  std::string text = fmt::format(
      "Asked for, and left in the queue: {}. The next `podctl apply` goes "
      "on from there; `podctl status` shows how it stands.\n",
      fmt::join(result.queued, ", "));
  if (!result.behind_queued.empty()) {
    text += fmt::format("{} on it.\n",
                        result.behind_queued.size() == 1
                            ? "1 change waits"
                            : fmt::format("{} changes wait", result.behind_queued.size()));
  }
  return text;
}

void ShowPartWarning(Wiring& wiring, JsonEvents* json) {
  ShowWarning(wiring, json, "Applied changes may be incomplete",
              "The plan was made with `--target`. `podctl plan` shows what is left to do.");
}

void ShowResult(Wiring& wiring, JsonEvents* json, const ExecuteResult& result, bool destroy) {
  ShowDiagnostics(wiring, json, FailureDiagnostics(wiring, result));
  ShowWarnings(wiring, json, result);
  if (result.save_error) ShowSaveError(wiring, json, result);
  if (json != nullptr) return json->ShowSummary(result, destroy ? "destroy" : "apply");
  Streams& streams = wiring.streams();
  streams.err << SkippedText(result) << QueuedText(result);
  if (!result.unfinished.empty()) {
    streams.err << fmt::format(
        "{}Under way, and written down in the state: {}. The next `podctl apply` takes it up.\n",
        result.interrupted ? "Interrupted. " : "", fmt::join(result.unfinished, ", "));
  } else if (result.interrupted) {
    streams.err << "Interrupted. The state is saved.\n";
  }
  const Paint paint(streams.color && streams.out_is_terminal);
  const std::string steps =
      result.steps > 0 ? fmt::format(" Bootstrap: {} run.", Plural(result.steps, "step")) : "";
  const std::string_view what = destroy ? "Destroy" : "Apply";
  const std::string counts = destroy ? fmt::format("Resources: {} destroyed.", result.destroyed)
                                     : fmt::format("Resources: {} added, {} changed, {} destroyed.",
                                                   result.added, result.changed, result.destroyed);
  streams.out << (result.ok() ? paint(Ink::kGreen, fmt::format("{} complete!", what))
                              : paint(Ink::kRed, fmt::format("{} incomplete.", what)))
              << " " << counts << steps << "\n"
              << std::flush;
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

void ShowMarkdown(Wiring& wiring, const PlanRun* run) {
  std::vector<std::string> notes;
  if (run != nullptr) {
    notes = run->notes;
    if (std::string jobs = JobsText(JobsAffected(run->spec, run->plan)); !jobs.empty()) {
      notes.push_back(std::move(jobs));
    }
  }
  const Plan* plan = run == nullptr ? nullptr : &run->plan;
  wiring.streams().out << MarkdownOf(plan, wiring.told(), notes) << std::flush;
}

// In terraform's words. Where stdout is a comment for a pull request, they are not a part of it.
void TellWhereSaved(Wiring& wiring, JsonEvents* json, const ApplyOptions& options) {
  if (json != nullptr) return json->Log("info", "Saved the plan to: " + options.out);
  Streams& streams = wiring.streams();
  (options.markdown ? streams.err : streams.out)
      << fmt::format(
             "\nSaved the plan to: {}\n\nTo perform exactly these actions, run the following "
             "command to apply:\n    podctl apply {}\n",
             options.out, ShellQuote(options.out))
      << std::flush;
}

// Nothing to send: but what an earlier run left pending, and bookkeeping, may have to be saved.
int SaveQuietly(Wiring& wiring, JsonEvents* json, PlanRun& run) {
  if (run.stored.lineage.empty()) return 0;  // there is no state, and nothing to remember
  const ExecuteOptions options;
  auto events = MakeProgressView(wiring.streams(), wiring.clock());
  const Doors doors{*run.provider,  wiring.steps(),  *run.store,
                    wiring.clock(), wiring.random(), run.generation};
  const ExecuteResult result =
      Execute(run.plan, run.settled, run.observation, doors, options, *events,
              wiring.interrupt().drain(), wiring.interrupt().leave());
  ShowWarnings(wiring, json, result);
  if (!result.save_error) return 0;
  ShowSaveError(wiring, json, result);
  return 1;
}

}  // namespace

int RunPlan(Wiring& wiring, const ApplyOptions& options) {
  std::unique_ptr<JsonEvents> json;
  if (wiring.options().json) json = std::make_unique<JsonEvents>(wiring.streams(), wiring.clock());
  PlanRunOptions prepare;
  prepare.operation = "plan";
  prepare.plan = PlanOptionsOf(options);
  // Left to the end of the process: to free a large plan would take as long as to make a part of
  // it.
  static std::optional<PlanRun>& run = *new std::optional<PlanRun>();
  run = PreparePlan(wiring, prepare, json.get());
  if (!run) {
    if (options.markdown) ShowMarkdown(wiring, nullptr);
    return FailedExitCode(wiring);
  }
  ShowNotes(wiring, json.get(), run->notes);
  if (!options.markdown) ShowThePlan(wiring, json.get(), *run);
  ShowProblems(wiring, json.get(), *run);
  const bool sound = !run->problems.has_errors();
  const bool saved =
      options.out.empty() || (sound && SaveThePlan(wiring, *run, options.out, json.get()));
  if (!sound && !options.out.empty()) {
    ShowError(wiring, json.get(), "",
              MakeError(ErrorCode::kFailedPrecondition, "a plan with errors cannot be saved"));
  }
  if (options.markdown) ShowMarkdown(wiring, &*run);
  if (!sound || !saved) return 1;
  if (!options.out.empty()) TellWhereSaved(wiring, json.get(), options);
  return options.detailed_exitcode && !run->plan.Empty() ? 2 : 0;
}

int RunApply(Wiring& wiring, const ApplyOptions& options) {
  const bool is_saved = !options.plan_file.empty();
  std::unique_ptr<JsonEvents> json;
  if (wiring.options().json) json = std::make_unique<JsonEvents>(wiring.streams(), wiring.clock());
  PlanRunOptions prepare;
  prepare.operation = options.destroy ? "destroy" : "apply";
  prepare.plan = PlanOptionsOf(options);
  prepare.lock = true;
  prepare.will_enter = !options.destroy && !options.refresh_only;
  auto run = is_saved ? PrepareSavedPlan(wiring, options, json.get())
                      : PreparePlan(wiring, prepare, json.get());
  if (!run) return FailedExitCode(wiring);
  const bool destroy = run->plan.mode == PlanMode::kDestroy;
  ShowNotes(wiring, json.get(), run->notes);
  if (!is_saved) ShowThePlan(wiring, json.get(), *run);
  ShowProblems(wiring, json.get(), *run);
  if (run->problems.has_errors()) return 1;
  if (run->plan.Empty()) {
    if (run->plan.mode == PlanMode::kNormal) NameOsLoginUsers(wiring, &run->plan);
    const int saved = SaveQuietly(wiring, json.get(), *run);
    if (saved != 0) return saved;
    ExecuteResult nothing;
    ShowResult(wiring, json.get(), nothing, destroy);
    return 0;
  }
  if (!is_saved) {
    const int code = ApprovePlan(wiring, json.get(), options, run->plan.mode);
    if (code != 0) return code;
  }
  const bool enters = run->plan.mode == PlanMode::kNormal;
  if (enters && !PrepareToEnter(wiring, json.get(), &run->plan)) return FailedExitCode(wiring);

  ExecuteOptions execute;
  execute.parallelism = wiring.options().parallelism;
  execute.wait_for_capacity = options.wait;
  std::unique_ptr<EventSink> progress;
  if (!json) progress = MakeProgressView(wiring.streams(), wiring.clock());
  EventSink& events = json ? static_cast<EventSink&>(*json) : *progress;
  const Doors doors{*run->provider, wiring.steps(),  *run->store,
                    wiring.clock(), wiring.random(), run->generation};
  const ExecuteResult result =
      Execute(run->plan, run->settled, run->observation, doors, execute, events,
              wiring.interrupt().drain(), wiring.interrupt().leave());
  progress.reset();
  ShowResult(wiring, json.get(), result, destroy);
  if (wiring.interrupt().leave().stop_requested()) {
    // Threads may hang in a call; everything is on disk, so they are not waited for.
    run->lock.reset();
    wiring.streams().err << std::flush;
    _exit(kInterruptedExitCode);
  }
  if (!run->plan.targets.empty()) ShowPartWarning(wiring, json.get());
  if (result.interrupted) return kInterruptedExitCode;
  run->lock.reset();  // what is started asks the state for its pod
  const bool started = destroy || StartDueJobs(wiring, json.get(), *run, result);
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
