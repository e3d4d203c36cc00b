// What a plan would do, as one short text: by it an apply knows the plan that was reviewed,
// wherever and whenever it is made anew.
//
// It covers, of each change in the order of their addresses, the verb, the paths and values that
// differ, what is run, and what else the execution goes by; of a sensitive value an HMAC under the
// state's key. It does not cover what differs between two plans that do the same: serials, times,
// the folder of a checkout, what stays as it is. Pure.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/plan_file.h"
#include "state/state.h"

namespace podctl {

// "sha256:" and 64 digits. `prior`: the settled state. `digest_key`: the state's; empty: there is
// no state yet, and then of a sensitive value it is covered only that there is one. `jobs`: what
// the plan means for those of the spec.
std::string DigestOfPlan(const Plan& plan, const State& prior, const std::string& digest_key,
                         const std::vector<std::string>& jobs);

// The same of a plan that was saved: that of the plan it was made from.
std::string DigestOfPlan(const SavedPlan& saved);

// Whether `text` has the form of one.
bool IsPlanDigest(std::string_view text);

}  // namespace podctl
