// podctl state list and show, show, status and unlock: looking at what podctl remembers.
#pragma once

#include <string>
#include <vector>

#include "cmd/wiring.h"

namespace podctl {

int RunShow(Wiring& wiring);
int RunStatus(Wiring& wiring);

struct StateListOptions {
  std::vector<std::string> addresses;  // empty: all
};

int RunStateList(Wiring& wiring, const StateListOptions& options);
int RunStateShow(Wiring& wiring, const std::string& address);
int RunUnlock(Wiring& wiring, const std::string& id);

}  // namespace podctl
