// The shell texts that pack and unpack files on a worker. They are one argument of the remote
// shell, so every user of the worker sees the paths in its process list.
#pragma once

#include <string>
#include <vector>

namespace podctl::tar {

// Writes a tar archive of the paths (remote_path.h) to standard output, each under its own base
// name: files and folders only, links followed. Paths are relative to the home folder. What a
// pattern such as `.*` matches of `.` and `..` is left out. Ends with kNothingToPack where one of
// the paths leads to nothing.
inline constexpr int kNothingToPack = 66;  // EX_NOINPUT of <sysexits.h>
std::string PackCommand(const std::vector<std::string>& paths);

// Unpacks a tar archive from standard input. A `destination` that is a folder, or ends in "/", or
// with `into`, takes the archive's entries; else the one entry gets the name `destination`, whose
// folder must be there. Nothing is replaced before the archive is unpacked as a whole beside it.
// `mark` tells this copy from others, on all its workers, some of which may see the same files: a
// moment as "1700000000.123456789", which becomes the time of the folder that is made. May be
// empty.
std::string UnpackCommand(const std::string& destination, bool into, const std::string& mark = "");

}  // namespace podctl::tar
