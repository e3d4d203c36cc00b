// What could not be saved where the state is, as a file of this machine.
#pragma once

#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/file_system.h"

namespace podctl {

// Creates `path` with all of `bytes`, durably but for its name: written beside it, synced, renamed.
// Who finds the file finds all of it, also while it is written and after a kill. kAlreadyExists;
// after any error nothing of it is left.
Result<void> WriteNewWhole(FileSystem& files, const std::string& path, const std::string& bytes,
                           unsigned mode);

// Writes `text` as podctl.NAME, or podctl.NAME-2 and so on, into the first of `folders` that takes
// it, durably and for its owner alone; folders that are not there are made. Returns the path; the
// error's message names what went wrong in each.
Result<std::string> WriteAside(FileSystem& files, const std::vector<std::string>& folders,
                               const std::string& name, const std::string& text);

}  // namespace podctl
