// What the command line says of `podctl run`.
#pragma once

#include <string>
#include <vector>

namespace podctl {

struct RunOptions {
  std::string job;
  std::string workers;                 // --worker; empty: as the job says
  std::vector<std::string> arguments;  // after --
  bool local = false;                  // on this machine
  bool print = false;                  // only show what would run
  bool detach = false;
  bool list = false;
  bool drain = true;
  bool drain_jobs = false;  // jobs of podctl that are in the way too
  bool sync = true;
  bool tell = true;  // says what was started, and how to watch it
};

}  // namespace podctl
