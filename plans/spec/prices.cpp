#include "plans/spec/prices.h"

namespace podctl {

std::string RegionOfZone(std::string_view zone) {
  return std::string(zone.substr(0, zone.rfind('-')));
}

std::optional<double> PriceBook::Find(const std::string& type, const std::string& region,
                                      const std::string& tier) const {
  const auto found = per_chip_hour.find({type, region, tier});
  return found == per_chip_hour.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace podctl
