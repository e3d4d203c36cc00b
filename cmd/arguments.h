// The command line, read by the table of commands. CLI11 is known in arguments.cpp alone.
#pragma once

#include <any>
#include <string>
#include <variant>
#include <vector>

#include "cmd/command.h"
#include "cmd/options.h"

namespace podctl {

// A command that is to be run.
struct Invocation {
  const Command* command = nullptr;
  GlobalOptions global;
  std::any options;  // the command's own
};

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

}  // namespace podctl
