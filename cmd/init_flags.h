// The flags of `podctl init`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cmd/options.h"

namespace podctl {

void AddInitCommand(CLI::App* app, InitArguments* init);
// Options that do not go together: what is wrong, or "".
std::string InitConflict(const InitArguments& init);

}  // namespace podctl
