// A saved plan, and the state, in the format of `terraform show -json` (format_version 1.2 of a
// plan, 1.0 of a state), so that policies, summaries and merge-request widgets made for it work.
//
// A pod is a managed resource of type `pod`; a bootstrap step is one of type `bootstrap`, whose
// name is "POD.STEP". Sensitive values never stand in it: a fixed text does in their place, and the
// `*_sensitive` members say where, as terraform's do.
#pragma once

#include <string_view>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/engine/plan_file.h"
#include "providers/base/value.h"
#include "state/state.h"

namespace podctl {

// The terraform whose formats and events these are: tools look at it to know what they read.
inline constexpr std::string_view kTerraformVersion = "1.11.4";

Value TerraformPlan(const SavedPlan& saved);

// {format_version, terraform_version, values}. `format_version` and `values` as terraform has them.
Value TerraformState(const State& state);

// ---- How things are named in terraform's JSON, and what of their drift is shown there.

// `state` is the plan's prior one.
ShownSides SidesOf(const Drift& drift, const State& state);

// Whether `change` deletes the node that a replacement in the same plan has deposed: for terraform
// that is a part of the replacement, and is not listed a second time.
bool IsPartOfReplacement(const Change& change, const Plan& plan);

// Of a reason, in its events and as `action_reason` of its plans; empty: it has no words for it.
struct ReasonWords {
  std::string_view event;
  std::string_view action;
};
ReasonWords TerraformReason(ReasonCode reason);

// What terraform has no words for, beside what it has: of libtpuFlags and runtimeEnv each line that
// is otherwise, and of values that are not shown where they come from ("version 1 -> 2"), by path.
std::vector<AttributeChange> FlagLines(const Change& change);
Value ValueOrigins(const Change& change);

// The members that name a resource: address, mode, type, name, provider_name, and `deposed` for a
// node that was replaced ("pod.a (deposed ID)").
Value TerraformName(const Address& address);

}  // namespace podctl
