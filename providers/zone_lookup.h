// The door to one question: whether a zone has what a node is to be made of. Who lists all that
// there is, or shows it, goes by ZoneCatalogue (provider.h).
#pragma once

#include <compare>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/api_version.h"
#include "providers/base/error.h"

namespace podctl {

struct CatalogueEntry {
  enum class What { kAcceleratorType, kRuntimeVersion };

  What what = What::kAcceleratorType;
  std::string project;
  std::string zone;
  std::string name;  // "v3-32", "tpu-ubuntu2204-base"
  ApiVersion version = ApiVersion::kV2;

  friend auto operator<=>(const CatalogueEntry&, const CatalogueEntry&) = default;
};

// Calls behave as those of Provider (provider.h).
class ZoneLookup {
 public:
  virtual ~ZoneLookup() = default;

  // False: the service does not know it there. An error: it does not say.
  virtual Result<bool> Has(const CatalogueEntry& entry, std::stop_token stop) = 0;
  // The names of all of that sort in its zone, sorted.
  virtual Result<std::vector<std::string>> AllLike(const CatalogueEntry& entry,
                                                   std::stop_token stop) = 0;
};

}  // namespace podctl
