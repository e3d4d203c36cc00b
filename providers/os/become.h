// This process becomes another program: its terminal, its signals and its exit code are then that
// program's own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

// Replaces this process by `words[0]`, an absolute path, with `variables` set over what it has in
// its environment. Returns only to say why that failed.
Error BecomeProgram(const std::vector<std::string>& words,
                    const std::map<std::string, std::string>& variables);

}  // namespace podctl
