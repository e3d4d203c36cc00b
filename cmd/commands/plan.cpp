#include "cmd/commands/plan.h"

#include <fmt/format.h>

#include "cmd/commands/commands.h"
#include "cmd/context.h"
#include "cmd/views/snippet.h"

namespace podctl {

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

void ShowNoWayIn(Reporter& reporter, const NoWayIn& why) {
  reporter.ShowError(why.no_key ? "no SSH key to reach the new pods with" : "", why.error);
}

// podctl plan: its command line. What it does is in apply.cpp, with what apply does before it acts.

std::string PlanConflict(const ApplyOptions& options, const GlobalOptions& global) {
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

constexpr Flag kPlanFlags[] = {
    kDestroyFlag,
    kRefreshOnlyFlag,
    kTargetFlag,
    kRefreshFlag,
    kReplaceFlag,
    kDetailedExitCodeFlag,
    PlanFlags::Value<&ApplyOptions::out>("--out", "FILE", "save the plan, for `podctl apply FILE`"),
    kMarkdownFlag,
};

const CommandOf<ApplyOptions> kPlanCommand("plan", "show what apply would do", kPlanFlags,
                                           WithWorld<RunPlan>, PlanConflict);

const Command& commands::kPlan = kPlanCommand;

}  // namespace podctl
