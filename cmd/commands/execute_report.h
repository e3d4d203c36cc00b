// What apply and watch say of a run after it: which changes failed and where they stand in the
// spec, and what became of a state that could not be saved.
#pragma once

#include "cmd/reporter.h"
#include "plans/engine/executor.h"
#include "providers/base/diagnostic.h"
#include "providers/os/file_system.h"

namespace podctl {

// Each failure as a diagnostic at the pod's or step's place in the spec.
Diagnostics FailureDiagnostics(FileSystem& files, const ExecuteResult& result);

// Of a run with a `save_error`.
void ShowSaveError(Reporter& reporter, const ExecuteResult& result);

// Those of the store.
void ShowWarnings(Reporter& reporter, const ExecuteResult& result);

}  // namespace podctl
