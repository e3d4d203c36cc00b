// Why a worker takes none of our keys, as far as its node tells.
#pragma once

#include <string>

#include "cmd/wiring.h"

namespace podctl {

// A sentence that says what to do about it; asks the API for the node. Empty where nothing is
// known.
std::string RefusedKeyAdvice(Wiring& wiring, const std::string& pod);

}  // namespace podctl
