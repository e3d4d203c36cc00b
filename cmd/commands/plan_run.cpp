#include "cmd/commands/plan_run.h"

#include <utility>

#include "cmd/command_line.h"
#include "cmd/commands/state_lock.h"
#include "cmd/views/snippet.h"

namespace podctl {

PlanWishes WishesFor(Wiring& wiring, PlanOptions plan, const std::string& operation) {
  PlanWishes wishes;
  wishes.load = wiring.SpecOptions();
  wishes.state = {wiring.LikelyStatePath(), !wiring.options().state.empty()};
  wishes.flags = PlaceFlags(wiring.options());
  wishes.parallelism = wiring.options().parallelism;
  wishes.plan = std::move(plan);
  if (!operation.empty()) wishes.lock = RequestFor(wiring, operation);
  return wishes;
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

void ShowNoWayIn(Reporter& reporter, const NoWayIn& why) {
  reporter.ShowError(why.no_key ? "no SSH key to reach the new pods with" : "", why.error);
}

}  // namespace podctl
