// What a job would run, for `podctl run JOB --print`: each set of equal workers once, with its
// variables and its text; what is copied, and the files that are written. Values of sensitive
// variables are not shown.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "plans/fleet/run/attempt.h"
#include "plans/jobs/launch.h"
#include "plans/spec/job_spec.h"
#include "providers/base/value.h"

namespace podctl {

// `pod`: null when it is this machine.
std::string ShowLaunch(const JobSpec& job, const LaunchPod* pod, const Launch& launch);
// The same for a tool.
Value LaunchDocument(const JobSpec& job, const LaunchPod* pod, const Launch& launch);

// A line for each job: name, pod, launcher, command.
std::string JobsOfSpecTable(const std::vector<JobSpec>& jobs);
Value JobsOfSpecDocument(const std::vector<JobSpec>& jobs);

// ---- What is said of a job's end: who failed first and of what, who failed after it, and who was
// ended because of it.

// Told while others go on: "research/2 failed: …", and what becomes of them. `aftermath` is what
// they are given to end by themselves; 0: they are being ended; nullopt: nobody ends them.
std::string FailureText(const std::string& worker, const std::string& cause,
                        std::optional<std::chrono::seconds> aftermath);

// Several lines; "" where all ended well.
std::string RunSummary(const AttemptResult& result);
// The end of a start that the node's trouble brought about, and the start that follows, in a line;
// "" where some worker tells of more than that.
std::string NodeRestartText(const AttemptResult& ended, int restart, int most,
                            const JobVerdict& why);
// As RunSummary, for a tool: the event "summary".
Value RunSummaryEvent(const AttemptResult& result, int exit_code, int restarts);

// 130 when interrupted; 0 when all ended well; the commands' own code where those that failed by
// themselves agree on one; else 1.
int RunExitCode(const AttemptResult& result);

}  // namespace podctl
