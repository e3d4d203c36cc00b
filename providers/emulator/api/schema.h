// The proto messages of requests, and the reading of JSON bodies against them as the Google front
// end does: unknown names and wrong types are refused, both name styles are accepted.
//
// The fields stand in messages.h. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/api/messages.h"
#include "providers/emulator/names.h"
#include "providers/emulator/service/api_error.h"
#include "providers/emulator/service/core.h"

namespace podctl::emulator {

// The body with all names in camelCase, nulls left out, enums by name, and without the output-only
// fields, which the service ignores. `root` names the body in errors ("node"; "" for a whole
// request message).
Answer ReadBody(Message message, const Value& body, std::string_view root, ApiVersion version);

// One path of an update mask ("network_config.enableExternalIps") in camelCase; nullopt when no
// field of Node has that name in that version.
std::optional<std::string> NodeMaskPath(std::string_view path, ApiVersion version);

// JSON as the Google front end reads it: unquoted keys, single-quoted strings and a comma before a
// closing bracket are accepted beside RFC 8259. An empty or blank text reads as an empty object,
// since custom verbs may come without a body. kInvalidArgument as ParseJson.
Result<Value> ParseLenientJson(std::string_view text);

// "description,network_config": the paths between the commas.
std::vector<MaskPath> ReadMask(std::string_view mask, ApiVersion version);

// "network_config" -> "networkConfig"; names already in camelCase stay.
std::string CamelCase(std::string_view name);

}  // namespace podctl::emulator
