// Files and folders of podctl's own, short of the state, which has a store of its own.
//
// A file that is whole at any moment, also after a power cut: what a later run goes on from.
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

// Makes what is missing of `path` for this user alone (0700), whatever the umask is; it is there
// after a power cut, too.
Result<void> MakePrivateFolders(FileSystem& files, const std::string& path);

}  // namespace podctl
