// What pods cost: by the prices of a spec (plans/spec/prices.h), of chips alone. Disks, addresses
// and traffic are not counted. Pure.
#pragma once

#include <optional>
#include <string>

#include "plans/engine/change.h"
#include "plans/engine/plan_cost.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/prices.h"
#include "providers/base/diagnostic.h"
#include "state/state.h"

namespace podctl {

// What of the service's chips a pod has.
struct ChipUse {
  std::string accelerator;        // as its node says: "v5litepod-8"
  std::string type;               // "v5e"
  std::string region;             // "us-central1"
  std::string tier;               // as the prices call it: "spot"
  std::optional<int> chips = {};  // of all slices; nullopt: not known

  std::string Words() const;  // "32 v5e chips, spot, us-central1"
};

ChipUse UseOf(const PodSpec& pod);
ChipUse UseOf(const PodRecord& record);
// Whether it is paid for: it is there, and not stopped.
bool IsPaid(const PodRecord& record);

// Of an hour.
struct Rate {
  std::optional<double> per_hour = {};  // nullopt: not known
  std::string unknown = {};             // why, a clause
};
// `prices`: nullptr: there are none.
Rate RateOf(const ChipUse& use, const PriceBook* prices);

// `state`: the settled one, with what the plan does not name.
PlanCost CostOf(const Plan& plan, const State& state, const PriceBook& prices);

// Why `limit` forbids the plan; nullopt: it does not. What costs no more than before is allowed.
std::optional<Diagnostic> WhyTooCostly(const PlanCost& cost, const CostLimit& limit);

}  // namespace podctl
