// The emulator's page for people: what there is, and what can be done to it with curl.
//
// Knows the service only by its overview. Pure.
#pragma once

#include <string>

#include "providers/base/value.h"

namespace podctl::emulator {

std::string AdminPage(const Value& overview);

}  // namespace podctl::emulator
