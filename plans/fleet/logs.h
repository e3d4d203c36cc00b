// Reads or follows the log of a job on many workers, and writes down how far it was shown. Shows
// nothing itself.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/fleet/kept_file.h"
#include "plans/fleet/log_follower.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"
#include "providers/workers/jobs.h"

namespace podctl {

struct LogsReport {
  std::vector<LogEnd> ends;            // of the workers, in their order
  std::map<int, HostKeyText> learned;  // host keys seen for the first time, by worker

  // The job's own code where all of them agree on one; what goes on counts as 0. Else 1.
  int ExitCode() const;
};

// With `resume` from where `places` says that they stopped; it is kept up to date either way.
LogsReport ReadLogs(ssh::Transport& transport, Clock& clock, KeptFile& places,
                    const std::vector<WorkerAccess>& workers, const workers::LogRequest& request,
                    bool resume, LogWatcher& watcher, const std::stop_token& stop);

}  // namespace podctl
