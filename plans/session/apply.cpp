#include "plans/session/apply.h"

#include <utility>

namespace podctl {
namespace {

// What an earlier run began, and this one found complete, is of this one's doing too.
void CountCompleted(const PlanRun& run, ExecuteResult* result) {
  result->added += run.came;
  result->destroyed += run.went;
}

// Nothing to send: but what an earlier run left pending, and bookkeeping, may have to be saved.
ApplyEnd SaveOnly(const ApplyDoors& doors, ApplyListener& listener, PlanRun* run) {
  ApplyEnd end{.how = ApplyEnd::How::kNothing};
  if (run->plan.mode == PlanMode::kNormal) {
    const auto named = NameOsLoginUsers(doors.entry, &run->plan);
    if (!named) listener.OnNoLogin(named.error());
  }
  // Else there is no state, and nothing to remember.
  if (!run->stored.lineage.empty()) {
    end.result = Execute(doors, {}, run->plan, listener.OnBegin(), run);
    CountCompleted(*run, &end.result);
  }
  return end;
}

}  // namespace

ExecuteResult Execute(const ApplyDoors& doors, const ExecuteOptions& options, const Plan& plan,
                      EventSink& events, PlanRun* run) {
  const Doors all{*run->provider, doors.steps,     *run->store, doors.clock,
                  doors.random,   run->generation, run->kinds};
  return Execute(plan, run->settled, run->observation, all, options, events, doors.drain,
                 doors.leave);
}

ApplyEnd Apply(const ApplyDoors& doors, const ExecuteOptions& options, ApplyListener& listener,
               PlanRun* run) {
  if (run->plan.Empty()) return SaveOnly(doors, listener, run);
  if (!listener.Approve(*run)) return {.how = ApplyEnd::How::kDeclined};
  if (run->plan.mode == PlanMode::kNormal) {
    if (auto why = PrepareAccess(doors.entry, &run->plan)) {
      return {.how = ApplyEnd::How::kNoAccess, .no_access = std::move(why)};
    }
  }
  ApplyEnd end{.result = Execute(doors, options, run->plan, listener.OnBegin(), run)};
  CountCompleted(*run, &end.result);
  return end;
}

}  // namespace podctl
