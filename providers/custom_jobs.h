// The door to a service that runs training jobs: Vertex AI's custom jobs
// (aiplatform.googleapis.com v1, projects.locations.customJobs). Jobs travel as Value with the JSON
// names of that API.
//
// A job has no id of the client's: its name is the service's, so a create whose answer was lost is
// found again by a label. The rules of Provider (provider.h) hold here.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl {

class CustomJobs {
 public:
  virtual ~CustomJobs() = default;

  // `job`: "projects/p/locations/us-central1/customJobs/123". kNotFound when there is none.
  virtual Result<Value> Get(const std::string& job, std::stop_token stop) = 0;
  // The earliest job of a region with this label; kNotFound when there is none (yet: a list may lag
  // behind a create).
  virtual Result<Value> Find(const std::string& project, const std::string& region,
                             const std::string& label, const std::string& value,
                             std::stop_token stop) = 0;
  // Sent once. kReplyLost: it is open whether the job was made; Find tells.
  virtual Result<Value> Create(const std::string& project, const std::string& region,
                               const Value& body, std::stop_token stop) = 0;
  // Asks that the job ends; of one that has ended, nothing. Whether and how it ended, Get tells.
  virtual Result<Value> Cancel(const std::string& job, std::stop_token stop) = 0;
};

// How far a job is, by its state (JobState of the API).
enum class JobPhase {
  kWaiting,  // QUEUED, PENDING, and what is not known
  kRunning,  // RUNNING, UPDATING, PAUSED
  kEnding,   // CANCELLING
  kOver,     // SUCCEEDED, FAILED, CANCELLED, EXPIRED, PARTIALLY_SUCCEEDED
};

inline JobPhase PhaseOfJob(std::string_view state) {
  for (const std::string_view over :
       {"JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED", "JOB_STATE_EXPIRED",
        "JOB_STATE_PARTIALLY_SUCCEEDED"}) {
    if (state == over) return JobPhase::kOver;
  }
  if (state == "JOB_STATE_CANCELLING") return JobPhase::kEnding;
  const bool runs =
      state == "JOB_STATE_RUNNING" || state == "JOB_STATE_UPDATING" || state == "JOB_STATE_PAUSED";
  return runs ? JobPhase::kRunning : JobPhase::kWaiting;
}

}  // namespace podctl
