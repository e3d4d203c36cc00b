// What a job would run, for `podctl run JOB --print`: each set of equal workers once, with its
// variables and its text; what is copied, and the files that are written. Values of sensitive
// variables are not shown.
#pragma once

#include <string>

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

}  // namespace podctl
