// What could not be saved where the state is, as a file of this machine.
#pragma once

#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/file_system.h"

namespace podctl {

// Writes `text` as podctl.NAME, or podctl.NAME-2 and so on, into the first of `folders` that takes
// it, durably and for its owner alone; folders that are not there are made. Returns the path; the
// error's message names what went wrong in each.
Result<std::string> WriteAside(FileSystem& files, const std::vector<std::string>& folders,
                               const std::string& name, const std::string& text);

}  // namespace podctl
