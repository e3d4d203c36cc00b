// What the service may answer, as far as podctl relies on it: that a resource is the one that was
// asked for, and no larger than it can be. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl::gcp {

// Far more workers than the largest node has (accelerator_catalog.h).
inline constexpr std::size_t kMostWorkersOfNode = 20'000;

// Whether `name`, as the service calls a resource, stands for `asked`. The service may name a
// project by its number, and who asks of the zone `-` asks of all.
bool IsSameResource(std::string_view name, std::string_view asked);

// kInternal for an answer that is another resource than `asked`, or that nobody can have.
Result<Value> CheckedResource(Result<Value> answer, const std::string& asked);

// "" or why there is no such node.
std::string WhyNoNode(const Value& node);

}  // namespace podctl::gcp
