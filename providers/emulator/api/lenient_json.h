// JSON as the Google front end reads it: unquoted keys, single-quoted strings and a comma before a
// closing bracket are accepted beside RFC 8259.
#pragma once

#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl::emulator {

// An empty or blank text reads as an empty object, since custom verbs may come without a body.
// kInvalidArgument as ParseJson.
Result<Value> ParseLenientJson(std::string_view text);

// The same document in strict JSON, as far as the text can be understood; never fails.
std::string StrictJson(std::string_view text);

}  // namespace podctl::emulator
