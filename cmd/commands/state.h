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

struct StateShowOptions {
  std::string address;
};

int RunStateShow(Wiring& wiring, const StateShowOptions& options);

struct UnlockOptions {
  std::string id;
};

int RunUnlock(Wiring& wiring, const UnlockOptions& options);

}  // namespace podctl
