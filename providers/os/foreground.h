// A program that takes this process's place before the user for a while: it has the terminal and
// the three standard streams, and is in the same process group, so that Ctrl-C and Ctrl-Z are for
// both. (process.h runs one unseen.)
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

struct ForegroundEnd {
  int exit_code = 0;
  int signal = 0;  // that ended it; 0: none did
};

// Runs a program found in PATH, without a shell, and waits for its end. On `stop` it gets SIGTERM,
// and is still waited for. When it stops itself, this process stops too. kNotFound when there is no
// such program, else kIo.
Result<ForegroundEnd> RunInForeground(const std::vector<std::string>& arguments,
                                      const std::stop_token& stop);

}  // namespace podctl
