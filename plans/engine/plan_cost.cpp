#include "plans/engine/plan_cost.h"

#include <algorithm>
#include <cmath>

#include "providers/base/price_words.h"

namespace podctl {

std::size_t PlanCost::UnknownAfter() const {
  return static_cast<std::size_t>(std::count_if(
      things.begin(), things.end(), [](const ThingCost& thing) { return !thing.after; }));
}

bool PlanCost::Rises() const {
  constexpr double kLessThanAnyPrice = 1e-9;
  return after > before + kLessThanAnyPrice ||
         std::any_of(things.begin(), things.end(),
                     [](const ThingCost& thing) { return thing.before && !thing.after; });
}

namespace {

bool IsAmount(double amount) {
  return std::isfinite(amount) && amount >= 0;
}

bool IsAmount(const std::optional<double>& amount) {
  return !amount || IsAmount(*amount);
}

}  // namespace

std::string WhatCannotBe(const PlanCost& cost) {
  if (!IsCurrency(cost.currency)) return "`cost.currency` is no currency";
  if (!IsDay(cost.as_of)) return "`cost.as_of` is no day";
  bool sound = IsAmount(cost.before) && IsAmount(cost.after);
  for (const ThingCost& thing : cost.things) {
    sound = sound && IsAmount(thing.before) && IsAmount(thing.after);
  }
  return sound ? "" : "`cost` has an amount that cannot be";
}

}  // namespace podctl
