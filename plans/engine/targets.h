// `--target` and `--replace`: whether what they name is there, and what of a plan belongs to it.
// Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "providers/base/diagnostic.h"

namespace podctl {

// Those that can be read; CheckAddresses names the others.
std::set<Address> AddressesIn(const std::vector<std::string>& texts);

// An error for each of `given` that is not among `known`; `flag` is "--target" or "--replace".
void CheckAddresses(const std::string& flag, const std::vector<std::string>& given,
                    const std::set<Address>& known, Kinds kinds, Diagnostics& diagnostics);

// The addresses of the changes that the targets name, and of all those that they wait for. A thing
// stands for its parts too. `plan` must still have its waits for what is kept (graph.h).
std::set<Address> ReachOf(const std::set<Address>& targets, const Plan& plan, Kinds kinds);

}  // namespace podctl
