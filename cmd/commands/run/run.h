// What the command line says of `podctl run`.
#pragma once

#include <string>

#include "plans/fleet/run/supervise.h"

namespace podctl {

struct RunOptions : RunWishes {
  std::string job;
  bool local = false;  // on this machine
  bool print = false;  // only show what would run
  bool detach = false;
  bool list = false;
};

}  // namespace podctl
