// How a state that is gone can be brought back from the generations of it that its store keeps.
#pragma once

#include <string>

#include "state/store.h"

namespace podctl {

// "5 generations of it are kept: `podctl state restore 16 -f team-a` brings the newest back"; empty
// where none can be read. `flags` as in StatePlace.
std::string HistoryHint(StateStore& store, const std::string& flags);

}  // namespace podctl
