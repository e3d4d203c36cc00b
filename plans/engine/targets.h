// `--target` and `--replace`: which addresses there are, and what of a plan belongs to them. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "state/state.h"

namespace podctl {

// Every address that may be named: pods and steps of the spec and of the state.
std::set<Address> KnownAddresses(const Spec& spec, const State& state);

// Those that can be read; CheckAddresses names the others.
std::set<Address> AddressesIn(const std::vector<std::string>& texts);

// An error for each of `given` that is not among `known`; `flag` is "--target" or "--replace".
void CheckAddresses(const std::string& flag, const std::vector<std::string>& given,
                    const std::set<Address>& known, Kinds kinds, Diagnostics& diagnostics);

// The addresses of the changes that the targets name, and of all those that they wait for. A pod
// stands for its steps too. `plan` must still have its waits for what is kept (graph.h).
std::set<Address> ReachOf(const std::vector<std::string>& targets, const Plan& plan);

}  // namespace podctl
