// The command line of the commands that reach a pod's workers: exec, ssh and tunnel.
#pragma once

#include <CLI/CLI.hpp>

#include "cmd/options.h"

namespace podctl {

// Adds the commands to `app`; what is said goes to `pod` and `exec`, which are lent.
void AddPodCommands(CLI::App* app, PodOptions* pod, ExecOptions* exec);

}  // namespace podctl
