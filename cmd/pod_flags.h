// The command line of the commands that reach a pod's workers: exec, ssh and tunnel.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cmd/options.h"

namespace podctl {

// Adds the commands to `app`; what is said goes to the options, which are lent.
void AddPodCommands(CLI::App* app, PodOptions* pod, ExecOptions* exec, CpOptions* cp);

// What of `exec` does not go together: a sentence, or "".
std::string ExecConflict(const PodOptions& pod, const ExecOptions& exec, bool json);

}  // namespace podctl
