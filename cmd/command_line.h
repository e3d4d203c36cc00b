// The command line as others may read it: in the lock of the state, which names what a run is busy
// with. Knows the few flags whose values may be secret.
#pragma once

#include <string>
#include <vector>

namespace podctl {

// "podctl apply --var token=… -f 'my spec.yaml'": quoted as a shell wants it, without the values of
// variables and without a command for workers (what follows `--`), and cut to a sensible length.
std::string CommandLineForOthers(const std::vector<std::string>& words);

}  // namespace podctl
