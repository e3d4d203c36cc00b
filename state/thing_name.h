// What a thing may be called. Specs, states and saved plans go by it, so an address can stand in a
// command that people copy into a shell.
#pragma once

#include <string_view>

namespace podctl {

// At most 63 letters, digits, - and _, of which the first is no -.
bool IsThingName(std::string_view name);

}  // namespace podctl
