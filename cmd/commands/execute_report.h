// What apply and watch say of a run after it: which changes failed and where they stand in the
// spec, and what became of a state that could not be saved.
#pragma once

#include "cmd/views/json_events.h"
#include "cmd/wiring.h"
#include "plans/execute/executor.h"
#include "providers/base/diagnostic.h"

namespace podctl {

// Each failure as a diagnostic at the pod's or step's place in the spec.
Diagnostics FailureDiagnostics(Wiring& wiring, const ExecuteResult& result);

// Of a run with a `save_error`.
void ShowSaveError(Wiring& wiring, JsonEvents* json, const ExecuteResult& result);

// Those of the store.
void ShowWarnings(Wiring& wiring, JsonEvents* json, const ExecuteResult& result);

}  // namespace podctl
