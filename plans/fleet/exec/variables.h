// --env: variables for a remote command whose values stand in no process list and no record: they
// come as the first line of the command's standard input, which the remote shell reads before it
// begins. What follows that line is the command's own input.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/environment.h"

namespace podctl {

using Variables = std::map<std::string, std::string>;

// Of "NAME=VALUE" and "NAME", whose value is the environment's: kNotFound when it has none.
Result<Variables> ReadVariables(const std::vector<std::string>& texts,
                                const Environment& environment);

// `command` for a POSIX shell that takes the variables from its standard input, and the line that
// brings them. Without variables the command as it is, and "".
std::string CommandWithVariables(const std::string& command, const Variables& variables);
std::string VariablesLine(const Variables& variables);

}  // namespace podctl
