// The flags of the commands that look after workers and jobs: doctor, drain, jobs, logs, kill.
#pragma once

#include <CLI/CLI.hpp>

#include "cmd/options.h"

namespace podctl {

void AddFleetCommands(CLI::App* app, FleetOptions* options);
// `exec --detach`.
void AddDetachFlag(CLI::App* exec, ExecOptions* options);

}  // namespace podctl
