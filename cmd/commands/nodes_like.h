// What may be meant by a name that no node has.
#pragma once

#include <stop_token>
#include <string>

#include "providers/provider.h"

namespace podctl {

// A sentence that names a node of a near name, those of the zone, or the same name elsewhere; asks
// the API for them.
std::string NodesLike(Provider& provider, const NodeName& name, const std::stop_token& stop);

}  // namespace podctl
