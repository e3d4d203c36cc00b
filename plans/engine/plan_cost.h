// What the things of a plan cost before and after it, by the prices that its spec names. Plain
// values; amounts are of `currency`, for an hour.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "state/address.h"

namespace podctl {

// Of one thing.
struct ThingCost {
  Address address;
  std::string what;                   // "32 v5e chips, spot, us-central1"
  std::optional<double> before = {};  // nullopt: not known
  std::optional<double> after = {};
  std::string unknown = {};  // why it is not known, a clause: "no price of v6e, spot, us-east1"
};

struct PlanCost {
  std::string currency;  // "USD"
  std::string as_of;     // the day of the prices: "2026-11-01"
  double before = 0;     // of all things whose cost is known, also those that stay
  double after = 0;
  std::vector<ThingCost> things;  // whose cost changes, or is not known; in the plan's order

  // How many of them are not known after it.
  std::size_t UnknownAfter() const;
  // Whether it costs more after the plan, or may.
  bool Rises() const;
};

// Of one that was read from a file: "" or what of it no podctl wrote.
std::string WhatCannotBe(const PlanCost& cost);

}  // namespace podctl
