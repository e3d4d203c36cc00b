// What the shell texts about jobs and runs share: how a job's folder is read, and how it is ended.
#pragma once

namespace podctl::workers {

// POSIX shell without a single quote: sets $jobs and $boot, and defines start_of PID, is_alive
// FOLDER, look FOLDER ($state, $code, $ended) and tell FOLDER.
extern const char* const kKnowJobs;

// POSIX shell without a single quote, behind kKnowJobs and kEndingText: defines
//   end_job BECAUSE SECONDS   ends the job in $job: TERM, its grace (or SECONDS), KILL, and its
//                             container. True when nothing is left of it. BECAUSE, if any, is kept
//                             for its owner.
// Several may call it at once: one does it, the others wait for what comes of it.
extern const char* const kEndJob;

}  // namespace podctl::workers
