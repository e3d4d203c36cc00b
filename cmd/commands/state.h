// podctl state list/show/rm, show, status and unlock: looking at what podctl remembers.
#pragma once

#include <string>

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunShow(Wiring& wiring);
int RunStatus(Wiring& wiring);
int RunStateList(Wiring& wiring);
int RunStateShow(Wiring& wiring, const std::string& address);
int RunStateRemove(Wiring& wiring, const std::string& address);
int RunUnlock(Wiring& wiring, const std::string& id);

}  // namespace podctl
