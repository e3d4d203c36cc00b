// A saved plan, and the state, in the format of `terraform show -json` (format_version 1.2 of a
// plan, 1.0 of a state), so that policies, summaries and merge-request widgets made for it work.
//
// A pod is a managed resource of type `pod`; a bootstrap step is one of type `bootstrap`, whose
// name is "POD.STEP". Sensitive values never stand in it: a fixed text does in their place, and the
// `*_sensitive` members say where, as terraform's do.
#pragma once

#include <string_view>

#include "plans/engine/plan_file.h"
#include "providers/base/value.h"
#include "state/state.h"

namespace podctl {

// The terraform whose formats and events these are: tools look at it to know what they read.
inline constexpr std::string_view kTerraformVersion = "1.11.4";

Value TerraformPlan(const SavedPlan& saved);

// {format_version, terraform_version, values}. `format_version` and `values` as terraform has them.
Value TerraformState(const State& state);

}  // namespace podctl
