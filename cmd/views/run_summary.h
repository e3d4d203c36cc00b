// What is said of a job's end: who failed first and of what, who failed after it, and who was ended
// because of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "plans/fleet/run/attempt.h"
#include "providers/base/value.h"

namespace podctl {

// Told while others go on: "research/2 failed: …", and what becomes of them. `aftermath` is what
// they are given to end by themselves; nullopt: nobody ends them.
std::string FailureText(const std::string& worker, const std::string& cause,
                        std::optional<std::chrono::seconds> aftermath);

// Several lines; "" where all ended well.
std::string RunSummary(const AttemptResult& result);
// The same for a tool: the event "summary".
Value RunSummaryEvent(const AttemptResult& result, int exit_code, int restarts);

// 130 when interrupted; 0 when all ended well; the commands' own code where those that failed by
// themselves agree on one; else 1.
int RunExitCode(const AttemptResult& result);

}  // namespace podctl
