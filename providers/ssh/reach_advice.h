// What to look at where a worker is not reached.
#pragma once

#include <string_view>

namespace podctl::ssh {

// `message` says why, in podctl's own words or those of the program ssh. Empty where nothing is
// known to help.
std::string_view ReachAdvice(std::string_view message);

}  // namespace podctl::ssh
