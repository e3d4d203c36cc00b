// What a run said of itself, kept for who tells of it elsewhere: in a comment, in a report. The run
// itself speaks as ever.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/reporter.h"
#include "plans/engine/change.h"
#include "plans/engine/executor.h"
#include "providers/base/diagnostic.h"

namespace podctl {

struct RunAccount {
  std::optional<Plan> plan;
  std::string digest;  // of a plan that could be carried out
  Diagnostics problems;
  std::vector<std::string> notes;
  std::optional<ExecuteResult> result;  // of an apply that came to an end
  bool interrupted = false;
  // Told of each diagnostic after it was shown; may be empty.
  std::function<void(const Diagnostic&)> on_problem = {};
};

// `account` is lent.
std::unique_ptr<Reporter> MakeKeepingReporter(std::unique_ptr<Reporter> inner, Streams& streams,
                                              std::stop_token interrupted, RunAccount* account);

}  // namespace podctl
