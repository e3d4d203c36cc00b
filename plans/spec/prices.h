// What chips cost, as a file says that a spec names: `prices: ./prices.yaml`, and the most that the
// spec's things may cost, `maxCost: 500/day`. podctl knows no prices by itself.
//
//   asOf: 2026-11-01
//   currency: USD
//   items:
//     - {type: v5e, region: us-central1, tier: spot, perChipHour: 0.6}
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "providers/base/diagnostic.h"

namespace podctl {

inline constexpr double kHoursOfDay = 24;
inline constexpr double kHoursOfMonth = 730;  // as Google Cloud's price pages count

struct PriceBook {
  std::string as_of;     // the day of the prices, "2026-11-01"
  std::string currency;  // "USD"
  // By type, region and tier: for one chip and one hour.
  std::map<std::tuple<std::string, std::string, std::string>, double> per_chip_hour;

  // nullopt: it does not say.
  std::optional<double> Find(const std::string& type, const std::string& region,
                             const std::string& tier) const;
};

// `maxCost`.
struct CostLimit {
  double per_hour = 0;
  std::string text;  // as it is written: "500/day"
  SourcePlace place;
};

// On what terms chips are had, as a price is for: on-demand, spot, reserved, flex-start.
inline constexpr std::string_view kOnDemand = "on-demand";
inline constexpr std::string_view kSpot = "spot";
inline constexpr std::string_view kReserved = "reserved";
inline constexpr std::string_view kFlexStart = "flex-start";

std::string RegionOfZone(std::string_view zone);  // "us-central1"

}  // namespace podctl
