// What a pod or a bootstrap step looks like as a resource of terraform's JSON: its values, and
// which of them are sensitive or not known yet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "providers/base/value.h"
#include "state/record_codec.h"
#include "state/state.h"

namespace podctl {

inline constexpr std::string_view kRedacted = "(sensitive value)";

using TerraformObject = ShownObject;  // one side of a change

// Of what the state remembers.
TerraformObject ObjectOf(const PodRecord& record);
TerraformObject ObjectOf(const Address& address, const StepRecord& record);

// A change's two sides. `state` is the plan's prior state.
struct TerraformSides {
  TerraformObject before;
  TerraformObject after;
};
TerraformSides SidesOf(const Change& change, const State& state);
TerraformSides SidesOf(const Drift& drift, const State& state);

// Whether `change` deletes the node that a replacement in the same plan has deposed: for terraform
// that is a part of the replacement, and is not listed a second time.
bool IsPartOfReplacement(const Change& change, const Plan& plan);

// The members that name a resource: address, mode, type, name, provider_name, and `deposed` for a
// node that was replaced ("pod.a (deposed ID)").
Value TerraformName(const Address& address);

}  // namespace podctl
