// The shell texts that pack and unpack files on a worker. They are one argument of the remote
// shell, so every user of the worker sees the paths in its process list.
//
// In a path on a worker `~` and `~user` at its beginning, and *, ? and [ anywhere, keep the meaning
// that they have to the shell there; everything else ({a,b}, $HOME, a blank) is taken as it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace podctl::tar {

// Whether it may mean several: it holds *, ? or [.
bool MayMeanSeveral(std::string_view path);

// As a word of a POSIX shell. Without `patterns` only `~` keeps its meaning.
std::string ShellWord(std::string_view path, bool patterns);

// The last part, "*.log" of "~/logs/*.log", "src" of "src/"; empty when only the worker knows it:
// "", "~", "~alice", "/", and what ends in "." or "..".
std::string NameOf(std::string_view path);

// A name with patterns as fnmatch(3) understands it, with the meaning that ShellWord gives it.
std::string MatchPattern(std::string_view name);

// Writes a tar archive of the paths to standard output, each under its own base
// name: files and folders only, links followed. Paths are relative to the home folder. What a
// pattern such as `.*` matches of `.` and `..` is left out. Ends with kNothingToPack where one of
// the paths leads to nothing.
inline constexpr int kNothingToPack = 66;  // EX_NOINPUT of <sysexits.h>
std::string PackCommand(const std::vector<std::string>& paths);

// The names in a folder ("": the home folder), a line each, folders with a `/` at their end; at
// most a thousand, and none with a control character, which a line could not tell.
std::string ListCommand(const std::string& folder);

// Unpacks a tar archive from standard input. A `destination` that is a folder, or ends in "/", or
// with `into`, takes the archive's entries; else the one entry gets the name `destination`, whose
// folder must be there. Nothing is replaced before the archive is unpacked as a whole beside it.
// `mark` tells this copy from others, on all its workers, some of which may see the same files: a
// moment as "1700000000.123456789", which becomes the time of the folder that is made. May be
// empty.
std::string UnpackCommand(const std::string& destination, bool into, const std::string& mark = "");

}  // namespace podctl::tar
