// plan, apply and destroy.
#pragma once

#include <string>
#include <vector>

#include "cmd/reporter.h"
#include "plans/engine/executor.h"
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
  bool markdown = false;             // plan and show: as a comment for a pull request
};

int RunPlan(Wiring& wiring, const ApplyOptions& options);
// With `options.destroy` the empty spec is applied.
int RunApply(Wiring& wiring, const ApplyOptions& options);

// ---- What apply and watch say of a run after it: which changes failed and where they stand in the
// spec, and what became of a state that could not be saved.

// Each failure as a diagnostic at the pod's or step's place in the spec.
Diagnostics FailureDiagnostics(FileSystem& files, const ExecuteResult& result);

// Of a run with a `save_error`.
void ShowSaveError(Reporter& reporter, const ExecuteResult& result);

// Those of the store.
void ShowWarnings(Reporter& reporter, const ExecuteResult& result);

}  // namespace podctl
