// Google's error bodies as one sentence and one code.
//
// Two forms exist: an HTTP answer's {"error": {code: <HTTP>, message, status, details}}, and the
// google.rpc.Status of a failed operation {code: <canonical number>, message, details}
// (google/rpc/status.proto, error_details.proto).
#pragma once

#include <string>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl::gcp {

// `server` is named when the body holds no words. The body need not be JSON (a proxy's page).
Error ErrorFromAnswer(int http_status, const std::string& body, const std::string& server);

// Of a failed operation.
Error ErrorFromStatus(const Value& status);

// Whether a 429 asks to slow down, rather than saying that a quota is used up: only the first is
// worth a repeat.
bool IsRateLimit(const std::string& body);

}  // namespace podctl::gcp
