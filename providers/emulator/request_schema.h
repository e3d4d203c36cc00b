// The proto messages of requests, and the reading of JSON bodies against them as the Google front
// end does: unknown names and wrong types are refused, both name styles are accepted.
//
// The fields stand in request_messages.h. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/api_error.h"
#include "providers/emulator/api_version.h"

namespace podctl::emulator {

enum class Message {
  kEmpty,
  kNode,
  kQueuedResource,
  kGetGuestAttributesRequest,
  kSimulateMaintenanceRequest,
  kQueuedMaintenanceRequest
};

// The body with all names in camelCase, nulls left out, enums by name, and without the output-only
// fields, which the service ignores. `root` names the body in errors ("node"; "" for a whole
// request message).
Answer ReadBody(Message message, const Value& body, std::string_view root, ApiVersion version);

// One path of an update mask ("network_config.enableExternalIps") in camelCase; nullopt when no
// field of Node has that name in that version.
std::optional<std::string> NodeMaskPath(std::string_view path, ApiVersion version);

// "network_config" -> "networkConfig"; names already in camelCase stay.
std::string CamelCase(std::string_view name);

// "21600s", "0.5s" in milliseconds; nullopt for anything else. At most 10,000 years, as protobuf.
std::optional<std::int64_t> DurationMs(std::string_view text);
// "2026-11-22T01:02:03.5Z", "…+02:00" in milliseconds since the epoch.
std::optional<std::int64_t> TimestampMs(std::string_view text);

}  // namespace podctl::emulator
