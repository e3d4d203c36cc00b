// The values that this process must not show, and their removal from what a service says: it may
// repeat in an error what it was sent.
//
// Thread safe. What was added stays until the process ends.
#pragma once

#include <string>
#include <string_view>

#include "providers/base/value.h"

namespace podctl {

// A whole value is hidden, as it is and as it stands within a JSON string. One of fewer than four
// characters is none: it would make words unreadable, and hide nothing. Of a value of several lines
// also each line of at least eight characters, and all of them joined by blanks.
void HideInErrors(std::string_view value);

// The texts of errors within a JSON answer: all of its members `error`, but for the words by which
// a program tells them apart.
void RedactErrors(Value* answer);

// All of what a service says of an error: a JSON document, or any other text.
std::string RedactedError(const std::string& body);

}  // namespace podctl
