// The bodies in which a training job is asked for: of Vertex AI's custom jobs today
// (aiplatform.googleapis.com v1, projects.locations.customJobs), and of AI Platform's jobs before
// (ml.googleapis.com v1, projects.jobs, ended on 2025-01-31). Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "plans/kinds/training_job/spec.h"
#include "providers/base/value.h"

namespace podctl {

// The label by which podctl finds a job again whose creation it has not heard of.
inline constexpr std::string_view kRequestLabel = "podctl-request";

// The body of customJobs.create, without podctl's own label: a master pool, and with a TPU a pool
// of the machine `cloud-tpu`, which runs the same image with the same arguments.
Value CustomJobBody(const TrainingJobSpec& job);

// The body that Caliban sent. `time` is its stamp, "20250131_120000".
Value LegacyJobBody(const TrainingJobSpec& job, const std::string& time);
inline constexpr std::string_view kLegacyEnd =
    "AI Platform Training ended on 2025-01-31: nobody answers this request any more.";

// A label's key or value as both services take it: lower case, letters, digits, - and _, at most 63
// characters; a key begins with a letter.
std::string SanitizedLabelKey(std::string_view key);
std::string SanitizedLabelValue(std::string_view value);

}  // namespace podctl
