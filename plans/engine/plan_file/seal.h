// By which an apply knows a saved plan for one that was made with its own state: the file goes
// through other hands, and its checksum anybody can make.
//
// The key is derived from the state's digest_key, which no plan holds. A plan that was made before
// there was a state has no seal; what it can do is all in what it shows (shown.h).
#pragma once

#include <string>

#include "plans/engine/plan_file.h"
#include "providers/base/error.h"

namespace podctl {

// Once nothing of `saved` will change any more. Fails as PlanToJson does.
Result<void> SealPlan(const std::string& digest_key, SavedPlan* saved);

// Of a plan that was read.
bool IsSealedBy(const std::string& digest_key, const SavedPlan& saved);

}  // namespace podctl
