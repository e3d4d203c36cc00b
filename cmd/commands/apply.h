// plan, apply and destroy, and what show and watch share with them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "plans/engine/executor.h"
#include "plans/session/plan.h"
#include "providers/base/diagnostic.h"
#include "providers/os/file_system.h"

namespace podctl {

class Wiring;

struct ApplyOptions {  // plan, apply, destroy and show
  bool auto_approve = false;
  bool detailed_exitcode = false;
  bool destroy = false;
  bool refresh_only = false;
  bool refresh = true;               // --refresh=false: the state alone tells what there is
  std::vector<std::string> targets;  // --target
  std::vector<std::string> replace;  // --replace
  std::string plan_file;             // apply and show: a saved plan; empty: none
  std::string out;                   // plan: where to save it; empty: nowhere
  bool wait = true;                  // apply --no-wait: leave requests in the queue
  bool gather = false;               // apply: equal outputs of a step once
  bool markdown = false;             // plan and show: as a comment for a pull request
  // apply: that of the plan that was reviewed, and no other is carried out; "": none was.
  std::optional<std::string> expect_digest;
  std::string not_reviewed;                      // with "": why no plan was
  std::string refusal = "No plan was reviewed";  // what that is called
  // Looks at a sound plan before it is shown, and adds to its problems; may be empty.
  std::function<void(PlanRun* run)> judge = {};
};

int RunPlan(Wiring& wiring, const ApplyOptions& options);
int RunApply(Wiring& wiring, const ApplyOptions& options);

inline constexpr Flag kMarkdownFlag =
    Switch<&ApplyOptions::markdown>("--markdown", "the plan as a comment for a pull request");

// Of --expect-digest: what is wrong with it, or "". An empty one, out of a variable that is not
// set, must not mean any.
std::string ReadDigest(const Flag& flag, const std::string& text,
                       std::optional<std::string>* target);

// Flags that do not go together: what is wrong, or "".
std::string PlanConflict(const ApplyOptions& options, const GlobalOptions& global);

// `podctl show FILE`: a saved plan, for who reviews it, as text or, with --json, in the format of
// `terraform show -json`. Behind the plan stands what else its apply goes by, and above it whether
// anybody vouches for it.
int RunShowPlan(Wiring& wiring, const ApplyOptions& options);

// ---- What apply and watch say of a run after it: which changes failed and where they stand in the
// spec, and what became of a state that could not be saved.

// Each failure as a diagnostic at the pod's or step's place in the spec.
Diagnostics FailureDiagnostics(FileSystem& files, const ExecuteResult& result);

// Of a run with a `save_error`.
void ShowSaveError(Reporter& reporter, const ExecuteResult& result);

// Those of the store.
void ShowWarnings(Reporter& reporter, const ExecuteResult& result);

// ---- How commands that plan tell what the session says, and why there is no plan.

class PlanPrinter final : public PlanListener {
 public:
  explicit PlanPrinter(Reporter& reporter) : reporter_(reporter) {}
  void OnSpec(const Diagnostics& warnings) override { reporter_.Show(warnings); }
  void OnTakeover(const std::string& note) override { reporter_.Note(note); }

 private:
  Reporter& reporter_;
};

// `warnings`: of the spec, where they were not shown yet.
void ShowNoPlan(Reporter& reporter, const NoPlan& none, const Diagnostics& warnings = {});
void ShowNoAccess(Reporter& reporter, const NoAccess& why);

}  // namespace podctl
