// A file that is whole at any moment, also after a power cut: what a later run goes on from, short
// of the state, which has a store of its own.
#pragma once

#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/os/file_system.h"

namespace podctl {

// `path` holds all of `bytes`, or what it held before: they are written beside it, synced, renamed
// over it, and the folder is synced. A symbolic link at `path` is replaced. After an error it holds
// what it held before, unless only the folder could not be synced.
Result<void> ReplaceDurably(FileSystem& files, const std::string& path, std::string_view bytes,
                            unsigned mode);

}  // namespace podctl
