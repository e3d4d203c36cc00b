// What is done on the workers before a job starts: what earlier runs left is ended, and the job's
// files are brought there. Each tells what it did; false (told why) when the job must not start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/commands/pod_target.h"
#include "cmd/commands/run/options.h"
#include "cmd/commands/run/supervise.h"
#include "cmd/wiring.h"
#include "plans/spec/job_spec.h"

namespace podctl {

// Ends the processes of earlier runs of this job, and what of the same user holds chips that it is
// to have and belongs to nobody that podctl knows of. What others hold, and jobs that are at work,
// this one included, are told and left alone, unless options.drain_jobs says otherwise. `run`: the
// one that is begun (again); empty for a detached one, which looks for itself whether it runs.
bool DrainForJob(Wiring& wiring, const ReadyLaunch& ready, const JobSpec& job,
                 const RunOptions& options, const std::string& run);

// Copies each source over its destination: a folder's content into the folder, a file to the file.
// What is there beside it stays.
bool SyncForJob(Wiring& wiring, const PodTarget& target, const std::vector<WorkerAccess>& workers,
                const JobSpec& job);

// Whether `path`, below the source, is meant by one of the patterns: one without a slash means
// names anywhere, one with a slash means paths. *, ? and [ as in a shell.
bool IsExcluded(const std::vector<std::string>& patterns, std::string_view path);

}  // namespace podctl
