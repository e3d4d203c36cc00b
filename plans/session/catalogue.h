// The accelerator types and runtime versions of a zone: asked of the service or, where it cannot be
// asked, taken from what podctl knows by itself.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/gcp/offered_types.h"
#include "providers/provider.h"

namespace podctl {

struct OfferPlace {
  std::string project;
  std::string zone;
};

struct TypesOffer {
  std::vector<gcp::OfferedType> types;
  bool from_service = false;
  std::optional<Error> unasked = {};  // why the service was not, of whom something was wanted
};
// An error: the service has answered, and refuses. `door` holds why there is none.
Result<TypesOffer> OfferedTypes(const Result<ZoneOffer*>& door, const OfferPlace& place,
                                const std::stop_token& stop);

// Sorted; only the service knows them.
Result<std::vector<std::string>> OfferedVersions(ZoneOffer& offer, const OfferPlace& place,
                                                 const std::stop_token& stop);

}  // namespace podctl
