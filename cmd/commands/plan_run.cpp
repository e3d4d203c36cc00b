#include "cmd/commands/plan_run.h"

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

}  // namespace podctl
