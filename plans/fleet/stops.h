// How somebody ends what is under way on workers.
#pragma once

#include <stop_token>

namespace podctl {

struct Stops {
  std::stop_token drain;  // nothing more is begun, and what runs is asked to end
  std::stop_token leave;  // after that: nobody waits any more
};

}  // namespace podctl
