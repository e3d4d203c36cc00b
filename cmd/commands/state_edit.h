// podctl state mv and rm: changing what podctl remembers, never a node.
#pragma once

#include <string>
#include <vector>

namespace podctl {

class Wiring;

struct StateMvOptions {
  std::string from;
  std::string to;
  bool dry_run = false;
};

int RunStateMove(Wiring& wiring, const StateMvOptions& options);

struct StateRmOptions {
  std::vector<std::string> addresses;
  bool dry_run = false;
  bool force = false;  // --force-forget
};

int RunStateRemove(Wiring& wiring, const StateRmOptions& options);

}  // namespace podctl
