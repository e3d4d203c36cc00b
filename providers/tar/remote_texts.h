// The shell texts that pack and unpack files on a worker. They are one argument of the remote
// shell, so every user of the worker sees the paths in its process list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace podctl::tar {

// Whether a remote path may mean several: it holds *, ? or [.
bool MayMeanSeveral(std::string_view path);

// Writes a tar archive of the paths to standard output, each under its own base name: files and
// folders only, links followed. Paths are relative to the home folder; `~`, `~user`, *, ? and [
// mean what they mean to a shell, anything else is taken as it is.
std::string PackCommand(const std::vector<std::string>& paths);

// Unpacks a tar archive from standard input. A `destination` that is a folder, or ends in "/", or
// with `into`, takes the archive's entries; else the one entry gets the name `destination`, whose
// folder must be there. Nothing is replaced before the archive is unpacked as a whole beside it.
std::string UnpackCommand(const std::string& destination, bool into);

}  // namespace podctl::tar
