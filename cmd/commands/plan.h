// What plan and apply, which plans too, have in common on their command lines.
#pragma once

#include <string>

#include "cmd/command.h"
#include "cmd/commands/apply.h"
#include "cmd/reporter.h"
#include "plans/session/plan.h"

namespace podctl {

using PlanFlags = FlagsOf<ApplyOptions>;

inline constexpr Flag kDestroyFlag =
    PlanFlags::Switch<&ApplyOptions::destroy>("--destroy", "plan the empty spec");
inline constexpr Flag kRefreshOnlyFlag = PlanFlags::Switch<&ApplyOptions::refresh_only>(
    "--refresh-only", "take what the cloud says into the state; change nothing else");
inline constexpr Flag kTargetFlag = PlanFlags::Values<&ApplyOptions::targets>(
    "--target", "ADDRESS", "only this address, and what it depends on; repeatable");
inline constexpr Flag kRefreshFlag = PlanFlags::Value<&ApplyOptions::refresh>(
    "--refresh", "true|false", "ask the cloud first; --refresh=false trusts the state");
inline constexpr Flag kReplaceFlag = PlanFlags::Values<&ApplyOptions::replace>(
    "--replace", "ADDRESS", "make this anew, or run it again; repeatable");
inline constexpr Flag kDetailedExitCodeFlag = PlanFlags::Switch<&ApplyOptions::detailed_exitcode>(
    "--detailed-exitcode", "exit 2 when there are changes");
inline constexpr Flag kAutoApproveFlag =
    PlanFlags::Switch<&ApplyOptions::auto_approve>("--auto-approve", "do not ask");
inline constexpr Flag kMarkdownFlag = PlanFlags::Switch<&ApplyOptions::markdown>(
    "--markdown", "the plan as a comment for a pull request");

// Flags that do not go together: what is wrong, or "".
std::string PlanConflict(const ApplyOptions& options, const GlobalOptions& global);

// ---- How commands that plan tell what the session says, and why there is no plan.

class PlanTeller final : public PlanListener {
 public:
  explicit PlanTeller(Reporter& reporter) : reporter_(reporter) {}
  void OnSpec(const Diagnostics& warnings) override { reporter_.Show(warnings); }
  void OnTakeover(const std::string& note) override { reporter_.Note(note); }

 private:
  Reporter& reporter_;
};

// `warnings`: of the spec, where they were not shown yet.
void ShowNoPlan(Reporter& reporter, const NoPlan& none, const Diagnostics& warnings = {});
void ShowNoWayIn(Reporter& reporter, const NoWayIn& why);

}  // namespace podctl
