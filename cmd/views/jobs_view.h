// The jobs of a pod's workers as a table and as a document. Knows nothing of how they were asked
// for.
#pragma once

#include <string>
#include <vector>

#include "providers/base/value.h"
#include "providers/workers/jobs.h"

namespace podctl {

struct WorkerJobs {
  int worker = 0;
  std::vector<workers::JobStatus> jobs;
};

// "runs", "ended with exit code 3", "was killed by KILL (exit code 137)", "died without an exit
// code".
std::string JobStateWords(const workers::JobStatus& job);

// One row for each name, however many workers have it; the newest first. `per_slice`: workers of
// each slice of a multislice, else 0.
std::string JobsTable(const std::vector<WorkerJobs>& workers, bool color, int per_slice = 0);
Value JobsDocument(const std::string& pod, const std::vector<WorkerJobs>& workers);

}  // namespace podctl
