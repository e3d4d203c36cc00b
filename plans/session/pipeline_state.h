// Whether the state of a run in a pipeline outlives it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "providers/base/diagnostic.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"

namespace podctl {

// A warning where a pipeline runs this, the state at `path` is a file that is not there, so that
// nothing has brought it back, and git does not follow it either. `git_follows` is asked only then;
// nullopt: it cannot tell.
std::optional<Diagnostic> WarnOfLostState(
    const Environment& environment, FileSystem& files, const std::string& path,
    const std::function<std::optional<bool>(const std::string& path)>& git_follows);

}  // namespace podctl
