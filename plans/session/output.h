// The values of outputs that are sensitive: the state holds a digest of each, and no value, so they
// are made anew from the spec and from what the state says of the things that they refer to.
#pragma once

#include <string>

#include "plans/engine/kind.h"
#include "plans/spec/spec.h"
#include "providers/base/error.h"
#include "state/state.h"

namespace podctl {

// Of the output `name`, which the state has, and has as a sensitive one. kFailedPrecondition where
// the spec says it not, or says another value than was applied. Asks nobody.
Result<std::string> SensitiveOutput(const std::string& name, const Spec& spec, const State& state,
                                    Kinds kinds);

}  // namespace podctl
