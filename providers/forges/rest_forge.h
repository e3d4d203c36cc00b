// The forges that podctl speaks to, by their REST APIs:
// - GitHub: "REST API endpoints for issue comments", "… issues", "… commits"; and, to hide a
//   comment, GraphQL's minimizeComment, which REST has not;
// - Gitea 1.22 and newer: the same paths below /api/v1;
// - GitLab: "Notes API", "Issues API", "Commits API", v4.
#pragma once

#include <memory>

#include "providers/forges/forge.h"
#include "providers/forges/place.h"
#include "providers/forges/rest_client.h"

namespace podctl {

// The doors must outlive it. kFailedPrecondition where the place has no token, naming the variables
// that may hold it; kUnimplemented for Atlantis, which writes comments itself.
Result<std::unique_ptr<Forge>> MakeForge(const ForgePlace& place, const ForgeDoors& doors);

}  // namespace podctl
