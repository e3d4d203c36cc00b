// Reads the file that `prices` names, and `maxCost` (prices.h).
#pragma once

#include <optional>
#include <string>

#include "plans/spec/prices.h"
#include "plans/spec/shape.h"
#include "plans/spec/value_reader.h"
#include "plans/spec/yaml_tree.h"

namespace podctl {

// Of a price file; what is wrong with it is reported to `reader`. `last_day`: none is of a later one,
// "2026-11-01"; empty: of any day.
PriceBook ReadPrices(const YamlNode& root, const std::string& last_day, ValueReader& reader);
// Whether somebody has taken such a file for a spec.
bool LooksLikePrices(const YamlNode& root);
// nullopt after a report.
std::optional<CostLimit> ReadCostLimit(const YamlNode& node, const Slot& slot, ValueReader& reader);

// What `maxCost` looks like.
inline constexpr Pattern kCostLimitPattern{"[0-9]+(?:\\.[0-9]+)?/(?:hour|day|month)",
                                           "an amount for a time: 20/hour, 500/day, 9000/month"};

}  // namespace podctl
