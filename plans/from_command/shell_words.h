// A command line as a POSIX shell splits it (POSIX.1-2017, 2.2 Quoting and 2.3 Token Recognition),
// without doing anything for it: variables and substitutions stay as they are written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

struct ShellLine {
  std::vector<std::string> words;
  // What a shell would have put in: "$ZONE", "$(hostname)"; each once, in order.
  std::vector<std::string> expansions;
  // What ends the command before the text does, from the first operator on: "&& echo done". Empty:
  // nothing does.
  std::string rest;
};

inline constexpr std::size_t kMostLineBytes = 128u << 10;

// kInvalidArgument: an open quote, nothing at all, no UTF-8, or more than kMostLineBytes.
Result<ShellLine> SplitShellLine(std::string_view text);

}  // namespace podctl
