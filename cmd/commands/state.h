// podctl state list and show, show, status and unlock: looking at what podctl remembers.
#pragma once

#include <string>

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunShow(Wiring& wiring);
int RunStatus(Wiring& wiring);
int RunStateList(Wiring& wiring, const StateOptions& options);
int RunStateShow(Wiring& wiring, const std::string& address);
int RunUnlock(Wiring& wiring, const std::string& id);

}  // namespace podctl
