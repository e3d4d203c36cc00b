// From the command line, read by the table of commands, to the command that serves it. CLI11 is
// known in arguments.cpp alone.
#pragma once

#include <any>
#include <string>
#include <variant>
#include <vector>

#include "cmd/command.h"
#include "cmd/output_filter.h"

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

// Both return the exit code.
int Dispatch(const Invocation& invocation, Streams& streams);
// `words` are those of the line that cannot be run.
int ShowUsageError(const UsageError& wrong, const std::vector<std::string>& words,
                   Streams& streams);

}  // namespace podctl
