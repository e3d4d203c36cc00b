// What a `podctl exec` is about to do: which command on which workers, after --worker and
// --retry-failed were looked at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plans/fleet/exec/last_run.h"
#include "plans/fleet/exec/options.h"
#include "plans/fleet/exec/record.h"
#include "plans/fleet/pod_target.h"
#include "providers/os/file_system.h"
#include "providers/worker.h"

namespace podctl {

struct ExecChoice {
  std::vector<WorkerAccess> workers;  // empty: all that failed are ok by now
  std::vector<std::string> command;   // words
  // The run of the same command that this one goes on with: what comes of it takes its place there.
  std::optional<ExecRecord> earlier;
  std::string output_dir;     // empty: none
  bool into_earlier = false;  // `output_dir` holds the results of `earlier`
};

// `last` is the pod's.
Result<ExecChoice> ChooseWork(FileSystem& files, const LastRun& last, const PodTarget& target,
                              const PodOptions& options, const ExecOptions& exec);

// The same, once `earlier` was read.
Result<ExecChoice> ChooseAgain(const PodTarget& target, const PodOptions& options,
                               const ExecOptions& exec, const ExecRecord& earlier);

}  // namespace podctl
