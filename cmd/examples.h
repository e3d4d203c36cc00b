// Lines that show what a command is for, at the end of its help. Data: a test parses each with the
// real table, and misses none.
#pragma once

#include <span>
#include <string_view>

namespace podctl {

struct Example {
  std::string_view command;  // "state mv"; of a group lines of its commands
  std::string_view line;     // for a POSIX shell
  std::string_view what;     // a clause about it
};

// Of one command, in the order in which help shows them; empty: there are none.
std::span<const Example> ExamplesOf(std::string_view command);

}  // namespace podctl
