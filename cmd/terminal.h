// What stands at the other end of standard output and error.
#pragma once

#include "cmd/streams.h"

namespace podctl {

// std::cout and std::cerr. Colours: a terminal, TERM other than "dumb", neither NO_COLOR
// (no-color.org) nor --no-color.
Streams StandardStreams(bool no_color);

}  // namespace podctl
