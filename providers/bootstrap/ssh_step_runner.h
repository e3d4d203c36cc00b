// Bootstrap steps over SSH: copies files, runs scripts, restarts tpu-runtime, proves that workers
// can be used.
//
// Nothing of a script or its environment shows in a worker's process list: both travel on standard
// input. A step that was sent and whose connection broke is never sent again here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "providers/bootstrap/step_runner.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"
#include "providers/os/withheld_files.h"
#include "providers/ssh/transport.h"
#include "providers/workers/probe.h"

namespace podctl {

class SshStepRunner final : public StepRunner {
 public:
  // All but `limits` are lent and must outlive it. Limits::command is not used: a step has its own.
  SshStepRunner(ssh::Transport& transport, FileSystem& files, Random& random,
                const ssh::Limits& limits, const WithheldFiles& withheld)
      : transport_(transport),
        files_(files),
        random_(random),
        limits_(limits),
        withheld_(withheld) {}

  std::vector<StepOutcome> Run(const Step& step, const std::vector<WorkerAccess>& workers,
                               StepObserver& observer, std::stop_token stop) override;

 private:
  Result<ssh::Job> ScriptJob(const Step& step, const std::string& id);
  Result<ssh::Job> JobOf(const Step& step, const std::string& id);
  void ProbeTogether(const std::vector<WorkerAccess>& workers,
                     const std::vector<std::optional<workers::ProbeReport>>& reports,
                     std::stop_token stop, std::vector<StepOutcome>* outcomes);

  ssh::Transport& transport_;
  FileSystem& files_;
  Random& random_;
  const ssh::Limits limits_;
  const WithheldFiles& withheld_;
};

// ---- The shell texts that bootstrap steps run on a worker. They are one argument of the remote
// shell, so nothing secret may stand in them: every user of the worker sees them in its process
// list.

// Unpacks the tar archive on standard input into the home folder, runs its member `id`/script,
// which lands in a temporary folder, with bash (else sh) and -e, and removes that folder again.
// When unpacking fails, a line that is just `id` goes to standard error and the exit code is 1.
// `id` is letters, digits and hyphens. `env` is what only this worker is given. `mark`: Step::mark;
// where a script with the same one is still at it, that is ended first, with all that it has
// started and that is still below it; what such a script left behind when it ended stays.
std::string RunScriptCommand(const std::string& id,
                             const std::map<std::string, std::string>& env = {},
                             const std::string& mark = {});

// The text of the script file: the variables, exported, and then the user's own text.
std::string ScriptFile(const std::string& script, const std::map<std::string, std::string>& env);

// Restarts tpu-runtime and waits, for at most 30 s, until systemd says that a new run of it is
// active and still is one second later. The exit code says what went wrong.
enum RestartExit {
  kRestartNoSystemd = 90,
  kRestartNoUnit = 91,
  kRestartRefused = 92,    // `systemctl restart` failed, or sudo would ask for a password
  kRestartNotActive = 93,  // never seen active
};
std::string RestartRuntimeCommand();

// Asks the runtime on this worker, at port 8475, for a version of XRT, as the notebooks of Colab's
// old TPUs asked theirs, and prints its answer. `version` is letters, digits and . _ + -. The exit
// code says what went wrong; the last line of standard error is what the worker has to say to it.
enum XrtExit {
  kXrtNoCurl = 90,
  kXrtNotThere = 91,  // nothing listens on the port
  kXrtNoAnswer = 92,  // it was asked, and gave no whole answer
  kXrtRefused = 93,   // the answer is an HTTP error
};
std::string RequestXrtCommand(const std::string& version);

}  // namespace podctl
