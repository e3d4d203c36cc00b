// The proto messages of requests, and the reading of JSON bodies against them as the Google front
// end does: unknown names and wrong types are refused, both name styles are accepted.
//
// The fields are those of the v2 discovery document (Node and the messages below it). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/api_error.h"

namespace podctl::emulator {

enum class Message { kEmpty, kNode, kGetGuestAttributesRequest };

// The body with all names in camelCase, nulls left out, enums by name, and without the output-only
// fields, which the service ignores. `root` names the body in errors ("node"; "" for a whole
// request message).
Answer ReadBody(Message message, const Value& body, std::string_view root);

// One path of an update mask ("network_config.enableExternalIps") in camelCase; nullopt when no
// field of Node has that name.
std::optional<std::string> NodeMaskPath(std::string_view path);

// "network_config" -> "networkConfig"; names already in camelCase stay.
std::string CamelCase(std::string_view name);

}  // namespace podctl::emulator
