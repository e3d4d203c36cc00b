// The command line of `podctl watch`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cmd/options.h"

namespace podctl {

void AddWatchCommand(CLI::App* app, WatchOptions* options);

// Options that do not go together: what is wrong, or "".
std::string WatchConflict(const WatchOptions& options);

}  // namespace podctl
