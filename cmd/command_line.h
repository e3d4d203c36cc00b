// The command line as others may read it, in the lock of the state, which names what a run is busy
// with, and its flags in the lines that podctl suggests. Knows the few whose values may be secret.
#pragma once

#include <string>
#include <vector>

#include "cmd/options.h"

namespace podctl {

// "podctl apply --var token=… -f 'my spec.yaml'": quoted as a shell wants it, without the values of
// variables and without a command for workers (what follows `--`), and cut to a sensible length.
std::string CommandLineForOthers(const std::vector<std::string>& words);

// The flags by which another command finds the same spec and state, for a shell:
// " -f 'my spec.yaml' --state s.json"; empty where it needs none.
std::string PlaceFlags(const GlobalOptions& options);

}  // namespace podctl
