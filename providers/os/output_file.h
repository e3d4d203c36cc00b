// Files that a run leaves to its user: made as their bytes come, a little at a time, so that
// thousands of them need no open descriptor each. What must survive a power cut goes through
// FileSystem.
#pragma once

#include <string>
#include <string_view>

#include "providers/base/error.h"

namespace podctl {

// Writes at the end of `path`, or with `anew` in place of what it holds; makes it where there is
// none. A symbolic link is refused. kIo when not everything was written (a full disk).
Result<void> WriteToFile(const std::string& path, std::string_view bytes, bool anew);

// `path` holds all of `bytes`, or what it held before: written beside it and renamed.
Result<void> ReplaceFile(const std::string& path, std::string_view bytes, unsigned mode);

}  // namespace podctl
