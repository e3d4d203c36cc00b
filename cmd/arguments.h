// The command line: the one table of commands and flags, from which parsing, help and completion
// come. The only file that includes CLI11.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cmd/options.h"

namespace podctl {

// A command line that cannot be run: what is wrong, and the help that serves.
struct UsageError {
  std::string message;
  std::string hint;
};
struct HelpWanted {
  std::string text;
};

std::variant<Invocation, UsageError, HelpWanted> ParseArguments(
    const std::vector<std::string>& arguments);

// "" when there is no such command.
std::string HelpFor(const std::string& command);

// Command names and their flags, for completion: {"plan", {"--detailed-exitcode", …}}.
struct CommandWords {
  std::string name;
  std::string summary;
  std::vector<std::string> flags;
};
std::vector<CommandWords> AllCommands();
std::vector<std::string> GlobalFlags();
// Every flag that takes a value in a word of its own: {"--file", "--zone", "-f", …}.
std::vector<std::string> FlagsWithValue();

}  // namespace podctl
