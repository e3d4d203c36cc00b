// What a file is written as, beside its place, before it is renamed there: how that is called, so
// that who comes next knows what a killed run left, and takes away nobody else's files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "providers/os/file_system.h"

namespace podctl {

// A hidden name in the folder of `path`. It says which run of this machine it is of (`run`: its
// number, perhaps with more behind a dash), and holds a proof that only podctl writes, with `key`;
// without a key it proves no more than that podctl's rule made it. `what`: "temporary plan".
std::string TemporaryName(const std::string& path, std::string_view what, const std::string& run,
                          const std::string& key);

// Removes what runs that were killed left beside `path`: of a run of this machine that has ended,
// as the name proves with one of `keys`. Best effort: it only takes room.
void RemoveTemporaries(FileSystem& files, const std::string& path, std::string_view what,
                       const std::vector<std::string>& keys);

}  // namespace podctl
