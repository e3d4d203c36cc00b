// Bootstrap steps over SSH: copies files, runs scripts, restarts tpu-runtime, proves that workers
// can be used.
//
// Nothing of a script or its environment shows in a worker's process list: both travel on standard
// input. A step that was sent and whose connection broke is never sent again here.
#pragma once

#include "providers/bootstrap/step_runner.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"
#include "providers/ssh/transport.h"

namespace podctl {

class SshStepRunner final : public StepRunner {
 public:
  // All but `limits` are lent and must outlive it. Limits::command is not used: a step has its own.
  SshStepRunner(ssh::Transport& transport, FileSystem& files, Random& random,
                const ssh::Limits& limits)
      : transport_(transport), files_(files), random_(random), limits_(limits) {}

  std::vector<StepOutcome> Run(const Step& step, const std::vector<WorkerAccess>& workers,
                               StepObserver& observer, std::stop_token stop) override;

 private:
  Result<ssh::Job> ScriptJob(const Step& step, const std::string& id);
  Result<ssh::Job> JobOf(const Step& step, const std::string& id);

  ssh::Transport& transport_;
  FileSystem& files_;
  Random& random_;
  const ssh::Limits limits_;
};

}  // namespace podctl
