// What is said of jobs that come back with their pod.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plans/session/awaited_jobs.h"
#include "plans/session/returning_jobs.h"
#include "providers/base/value.h"

namespace podctl {

// "job train comes back on pod.research, attempt 3 of 6: its pod was made anew".
std::string ReturnNewsText(const ReturnNews& news);
// Whether it tells how things stand, and is told again only when that changes.
bool IsStanding(const ReturnNews& news);

// A start that the state has: "attempt 2 since 2026-…, at first by alice@laptop".
std::string WantedJobText(const WantedJob& job);
// By their names, without their arguments.
Value WantedDocument(const std::map<std::string, WantedJob>& jobs);
// Below the pods of a status, a line for each: "Job train comes back with pod.research: attempt 2
// since 2026-…".
std::string WantedLines(const WantedJobs& wanted);

// Below the jobs of a pod, a line for each that does not run now: "train comes back with
// pod.research, attempt 3 of 6: it waits for its pod."
std::string AwaitedText(const std::string& pod, const std::vector<AwaitedJob>& awaited);
Value AwaitedDocument(const std::vector<AwaitedJob>& awaited);

}  // namespace podctl
