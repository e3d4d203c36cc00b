// Google's error bodies as one sentence and one code.
//
// Two forms exist: an HTTP answer's {"error": {code: <HTTP>, message, status, details}}, and the
// google.rpc.Status of a failed operation {code: <canonical number>, message, details}
// (google/rpc/status.proto, error_details.proto).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl::gcp {

// `server` is named when the body holds no words. The body need not be JSON (a proxy's page).
// `if_denied` is the hint where permission is denied; empty: what helps with TPUs.
Error ErrorFromAnswer(int http_status, const std::string& body, const std::string& server,
                      const std::string& if_denied = {});

// Of a failed operation.
Error ErrorFromStatus(const Value& status);

// Whether a 429 asks to slow down, rather than saying that a quota is used up: only the first is
// worth a repeat.
bool IsRateLimit(const std::string& body);

// ---- What the service may answer, as far as podctl relies on it: that a resource is the one that
// was asked for, and no larger than it can be. Pure.

// Far more workers than the largest node has (available_types.h).
inline constexpr std::size_t kMostWorkersOfNode = 20'000;

// "projects/PROJECT/locations/LOCATION/COLLECTION/ID".
struct ResourceName {
  std::string project;
  std::string location;
  std::string id;
};
std::optional<ResourceName> ParseResource(std::string_view name, std::string_view collection);

// Whether `name`, as the service calls a resource, stands for `asked`. The service may name a
// project by its number, and who asks of the zone `-` asks of all.
bool IsSameResource(std::string_view name, std::string_view asked);

// kInternal for an answer that is another resource than `asked`, or that nobody can have.
Result<Value> CheckedResource(Result<Value> answer, const std::string& asked);

// "" or why there is no such node.
std::string WhyNoNode(const Value& node);

}  // namespace podctl::gcp
