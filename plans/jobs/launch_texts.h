// Puts a pod's fields into the texts of its jobs: `${pod.research.networkEndpoints[0].ipAddress}`
// in `command`, `flags` and `env`.
#pragma once

#include <string>

#include "plans/jobs/launch.h"

namespace podctl {

// The job with plain text in place of template text. Where the pod is not there yet (`guessed`),
// what is not known stands as `<networkEndpoints[0].ipAddress of research>`. kFailedPrecondition
// for what the pod does not have, kInvalidArgument for a value that would be more than a word of
// the shell text it is put into.
Result<JobSpec> RenderJob(const JobSpec& job, const LaunchPod& pod);

// As somebody wrote it: `$${` as `${`, references as they are.
std::string TemplateAsWritten(const std::string& text);

}  // namespace podctl
