// Whether two records of a state stand for one object of the service: then what is done to one of
// them is done to the other, and who deletes one deletes the other's. No podctl writes such a
// state, but a file may have been put together by hand. Pure.
#pragma once

#include <string>

#include "state/state.h"

namespace podctl {

// A sentence that names both addresses and the object; "": there are none.
std::string WhatIsShared(const State& state);

}  // namespace podctl
