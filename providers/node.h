// Reading a Node resource (Cloud TPU API v2) with names.
//
// Words of the service are of one line each whatever it sends: no text of it makes lines of
// podctl's.
#pragma once

#include <cstddef>
#include <string>

#include "providers/base/value.h"

namespace podctl {

std::string NodeState(const Value& node);   // Node.state, "STATE_UNSPECIFIED" when absent
std::string NodeHealth(const Value& node);  // Node.health, "" when absent
std::string NodeHealthDescription(const Value& node);  // Node.healthDescription, "" when absent
// Node.id, or Node.createTime where the service gives none.
std::string NodeUid(const Value& node);
std::string NodeId(const Value& node);  // the last part of Node.name
// With several network interfaces the service lists that many endpoints for each worker.
std::size_t EndpointsPerWorker(const Value& node);
std::size_t WorkerCount(const Value& node);

}  // namespace podctl
