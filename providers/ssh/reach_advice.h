// What to look at where a worker is not reached.
#pragma once

#include <string_view>

#include "providers/ssh/cause.h"

namespace podctl::ssh {

// Empty where nothing is known to help.
std::string_view ReachAdvice(const Cause& cause);

}  // namespace podctl::ssh
