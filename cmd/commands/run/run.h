// What the command line says of `podctl run`.
#pragma once

#include <string>

#include "plans/fleet/exec/request.h"
#include "plans/fleet/run/supervise.h"

namespace podctl {

struct RunOptions : RunRequest, OutputOptions {
  std::string job;
  std::string watched;  // --worker: whose output is seen; empty: all
  bool local = false;   // on this machine
  bool print = false;   // only show what would run
  bool detach = false;
  bool list = false;
};

}  // namespace podctl
