// What the shell texts about jobs and runs share: how a job's folder is read, and how it is ended.
#pragma once

#include <string>

namespace podctl::workers {

// POSIX shell without a single quote: sets $podctl_jobs, the folder of this machine's jobs. Several
// workers may have one home folder (NFS), where the jobs of one are not those of another.
extern const char* const kJobsFolder;

// POSIX shell without a single quote: sets $jobs (that folder) and $boot, and defines start_of PID,
// is_alive FOLDER, look FOLDER ($state, $code, $ended) and tell FOLDER.
std::string KnowJobs();

// POSIX shell without a single quote, behind KnowJobs() and kEndingText: defines
//   end_job BECAUSE SECONDS   ends the job in $job: TERM, its grace (or SECONDS), KILL, and its
//                             container. True when nothing is left of it. BECAUSE, if any, is kept
//                             for its owner.
// Several may call it at once: one does it, the others wait for what comes of it.
extern const char* const kEndJob;

}  // namespace podctl::workers
