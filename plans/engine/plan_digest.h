// What a plan would do, as one short text: by it an apply knows the plan that was reviewed,
// wherever and whenever it is made anew.
//
// It covers, of each change in the order of their addresses, the verb, the paths and values that
// differ, what is run, what else the execution goes by, and the very objects that it is done to; of
// a sensitive value an HMAC under the state's key. An apply also goes by what no change shows: how
// workers are reached, what is protected, what is started afterwards. So the text of the spec, its
// variables and the state's lineage are covered as well. Serials, times and the folder of a
// checkout are not. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/plan_file.h"
#include "state/state.h"

namespace podctl {

// Of the spec that a plan was made from.
struct PlanBasis {
  std::string spec_digest;                       // Spec::digest
  std::map<std::string, std::string> variables;  // those that are not sensitive
  std::vector<std::string> sensitive_variables;  // the names of the others, sorted
};

// "sha256:" and 64 digits. `prior`: the settled state. `digest_key`: the state's; empty: there is
// no state yet, and then of a sensitive value it is covered only that there is one. `jobs`: what
// the plan means for those of the spec.
std::string DigestOfPlan(const Plan& plan, const State& prior, const std::string& digest_key,
                         const std::vector<std::string>& jobs, const PlanBasis& basis);

// The same of a plan that was saved: that of the plan it was made from.
std::string DigestOfPlan(const SavedPlan& saved);

// Whether `text` has the form of one.
bool IsPlanDigest(std::string_view text);

}  // namespace podctl
