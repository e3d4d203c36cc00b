// The flags of `podctl run`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cmd/options.h"

namespace podctl {

// What stands behind `--` goes to `pod`'s command, as with exec.
void AddRunCommand(CLI::App* app, RunOptions* run, PodOptions* pod);
// Flags that do not go together: what is wrong, or "".
std::string RunConflict(const RunOptions& run);

}  // namespace podctl
