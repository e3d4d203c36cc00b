// Questions to whoever sits at the terminal.
#pragma once

#include <string>

#include "cmd/outlet.h"
#include "cmd/reporter.h"

namespace podctl {

struct Approval {
  std::string unasked;  // the error where there is nobody to ask
  std::string hint;     // and what to do about it
  std::string question;
  std::string declined;     // "Apply cancelled."
  std::string interrupted;  // "Interrupted. Nothing was changed."
};

// 0: go on, since the answer, one line from the terminal, was "yes"; otherwise the exit code.
// Nobody is asked without a terminal, nor without `input` (--input=false) or with --json.
int Approve(const Approval& approval, bool input, Reporter& reporter, Streams& streams);

}  // namespace podctl
