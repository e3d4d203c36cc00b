// What a zone offers, as tables and documents. Knows nothing of who said it.
#pragma once

#include <string>
#include <vector>

#include "providers/base/value.h"
#include "providers/gcp/offered_types.h"

namespace podctl {

// A row a type; with the documented zones where some are known.
std::string TypesTable(const std::vector<gcp::OfferedType>& types, bool color);
// The same for --json: the member `types`.
Value TypesList(const std::vector<gcp::OfferedType>& types);

}  // namespace podctl
