// How things are named in terraform's JSON, and what of their drift is shown there.
#pragma once

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "providers/base/value.h"
#include "state/state.h"

namespace podctl {

// `state` is the plan's prior one.
ShownSides SidesOf(const Drift& drift, const State& state);

// Whether `change` deletes the node that a replacement in the same plan has deposed: for terraform
// that is a part of the replacement, and is not listed a second time.
bool IsPartOfReplacement(const Change& change, const Plan& plan);

// The members that name a resource: address, mode, type, name, provider_name, and `deposed` for a
// node that was replaced ("pod.a (deposed ID)").
Value TerraformName(const Address& address);

}  // namespace podctl
