// podctl watch: looks again and again, and makes pods anew that the service took away.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cmd/wiring.h"

namespace podctl {

struct WatchOptions {
  std::chrono::milliseconds interval{60'000};
  bool once = false;
  bool detailed_exitcode = false;
  std::vector<std::string> targets;
};

int RunWatch(Wiring& wiring, const WatchOptions& options);

}  // namespace podctl
