// What pods cost, as text and as JSON. Amounts are of the prices' currency.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/plan_cost.h"
#include "plans/session/bill.h"
#include "providers/base/value.h"

namespace podctl {

// "51.20", "28,032": two digits behind the point below a thousand, none from there on.
std::string Amount(double amount);

// "Cost: 51.20 USD an hour, 38.40 more than now …" and what changes, a line each, without newlines.
// A long list ends with how many more there are.
std::vector<std::string> CostLines(const PlanCost& cost);
// Of what is there, and no plan: "Cost: 51.20 USD an hour …".
std::vector<std::string> RunningCostLines(const PlanCost& cost);
// The same of a plan that changes nothing; none where nothing is to be paid for.
std::vector<std::string> StandingCostLines(const Plan& plan);
Value CostDocument(const PlanCost& cost);

// `label`: a sum for each of its values stands below; empty: none.
std::string BillText(const Bill& bill, const std::string& label);
Value BillDocument(const Bill& bill, const std::string& label);

}  // namespace podctl
