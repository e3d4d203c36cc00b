// The jobs of a pod's workers as a table and as a document. Knows nothing of how they were asked
// for.
#pragma once

#include <string>
#include <vector>

#include "plans/fleet/jobs.h"
#include "providers/base/value.h"

namespace podctl {

// One row for each name, however many workers have it; the newest first. `per_slice`: workers of
// each slice of a multislice, else 0.
std::string JobsTable(const std::vector<WorkerJobs>& workers, bool color, int per_slice = 0);
Value JobsDocument(const std::string& pod, const std::vector<WorkerJobs>& workers);

// What became of a job that was to be ended, a line for each kind of end.
std::string KilledText(const std::string& job, const std::string& pod, int per_slice,
                       const KillReport& report);
// On which workers a job was started; the document tells too where it ran already.
std::string StartedText(const std::string& job, const std::string& pod, int per_slice,
                        const StartReport& report);
Value StartedDocument(const std::string& job, const std::string& pod, const StartReport& report);

}  // namespace podctl
