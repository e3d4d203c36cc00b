// What is said when a command has ended on all workers: who failed and why, in few lines however
// many they are, and the exit code that tells the truth.
#pragma once

#include <chrono>
#include <string>

#include "plans/fleet/exec/outcome.h"
#include "providers/base/value.h"

namespace podctl {

// The workers that were not ok: failed ones by cause, the most frequent first; then lost ones,
// which may have run the command; then those it was never started on. Empty when there is nothing
// to say: all ok, or the one worker ran its command to its end, which has said it all (where its
// output was `shown`). `retry`: what to type to run it again on just those; may be empty.
std::string ExecSummary(const ExecOutcome& outcome, const std::string& retry, bool shown = true);

// The same for a tool: the event "summary".
Value ExecSummaryEvent(const ExecOutcome& outcome, int exit_code,
                       std::chrono::milliseconds elapsed);

// The command's own code when it ended with the same on all workers, 255 like any other; 130 when
// interrupted; else 1.
int ExecExitCode(const ExecOutcome& outcome);

}  // namespace podctl
