// Where --retry-failed finds what came of an earlier run: in a folder that --output-dir wrote, or,
// for `last`, in $XDG_STATE_HOME/podctl/exec (~/.local/state where that is not set): one file for
// each pod of each state file, readable by its owner only, whole at any moment, also after
// a power cut. The newest 100 are kept.
#pragma once

#include <string>

#include "plans/fleet/exec/record.h"
#include "plans/fleet/kept_file.h"
#include "providers/base/error.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"

namespace podctl {

class LastRun {
 public:
  // For the pod at `address` in the state at `state_path`. The doors are lent.
  LastRun(FileSystem& files, const Environment& environment, const std::string& state_path,
          const std::string& address);

  // Best effort: where it cannot be kept, `--retry-failed last` will say that there is none.
  void Save(const ExecRecord& record);
  // kNotFound when nothing was run yet.
  Result<ExecRecord> Load() const;

 private:
  const std::string pod_;
  KeptFile file_;
};

// What an earlier `--output-dir` left in `folder`.
Result<ExecRecord> LoadExecRecord(FileSystem& files, const std::string& folder);

}  // namespace podctl
