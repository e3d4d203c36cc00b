// podctl state mv and rm: changing what podctl remembers, never a node.
#pragma once

#include <string>
#include <vector>

namespace podctl {

struct StateMvOptions {
  std::string from;
  std::string to;
  bool dry_run = false;
};

struct StateRmOptions {
  std::vector<std::string> addresses;
  bool dry_run = false;
  bool force = false;  // --force-forget
};

}  // namespace podctl
