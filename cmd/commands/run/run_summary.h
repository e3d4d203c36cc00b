// What is said of a job's end: who failed first and of what, who failed after it, and who was ended
// because of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cmd/commands/run/attempt.h"
#include "plans/jobs/restart.h"
#include "providers/base/value.h"

namespace podctl {

// The signal that ended it, "KILL"; empty: none did. A shell tells a signal by an exit code from
// 129.
std::string SignalOf(const ssh::WorkerResult& result);
// "exit code 3", "killed by KILL (exit code 137)".
std::string CauseOfEnd(const ssh::WorkerResult& result);

// Told while others go on: "research/2 failed: …", and what becomes of them. `aftermath` is what
// they are given to end by themselves; nullopt: nobody ends them.
std::string FailureText(const std::string& worker, const std::string& cause,
                        std::optional<std::chrono::seconds> aftermath);

// For JudgeEnd, without what only the service knows.
JobEnd EndOf(const AttemptResult& result);

// Several lines; "" where all ended well.
std::string RunSummary(const AttemptResult& result);
// The same for a tool: the event "summary".
Value RunSummaryEvent(const AttemptResult& result, int exit_code, int restarts);

// 130 when interrupted; 0 when all ended well; the commands' own code where those that failed by
// themselves agree on one; else 1.
int RunExitCode(const AttemptResult& result);

}  // namespace podctl
