// The accelerator types and runtime versions of a zone: asked of the service or, where it cannot be
// asked, taken from what podctl knows by itself.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/gcp/available_types.h"
#include "providers/provider.h"

namespace podctl {

struct CataloguePlace {
  std::string project;
  std::string zone;
};

struct TypeCatalogue {
  std::vector<gcp::AvailableType> types;
  bool from_service = false;
  std::optional<Error> unasked = {};  // why the service was not, of whom something was wanted
};
// An error: the service has answered, and refuses. `door` holds why there is none.
Result<TypeCatalogue> AvailableTypes(const Result<ZoneCatalogue*>& door,
                                     const CataloguePlace& place, const std::stop_token& stop);

// Sorted; only the service knows them.
Result<std::vector<std::string>> AvailableVersions(ZoneCatalogue& catalogue,
                                                   const CataloguePlace& place,
                                                   const std::stop_token& stop);

}  // namespace podctl
