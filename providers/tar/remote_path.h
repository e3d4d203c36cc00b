// What a path on a worker means to the shell there: `~` and `~user` at its beginning, and *, ? and
// [ anywhere, keep their meaning; everything else ({a,b}, $HOME, a blank) is taken as it is.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace podctl::tar
