// What `podctl state push` may put in the place of the stored state, by the rules that Terraform
// has for the same command (statemgr.CheckValidImport). Pure.
#pragma once

#include "providers/base/error.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

// kFailedPrecondition when `pushed` belongs to another lineage, is older than what is stored, or
// has its serial with another content. Everything may replace a state without resources, and with
// `force` everything may replace everything.
Result<void> CheckPush(const Snapshot& stored, const State& pushed, bool force);

}  // namespace podctl
