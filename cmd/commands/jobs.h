// Commands that outlive the connection: `podctl exec --detach NAME`, `podctl jobs`, `podctl kill`.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/commands/exec/options.h"
#include "cmd/commands/pod_target.h"
#include "cmd/wiring.h"

namespace podctl {

// Starts the command of `exec --detach` on all chosen workers, or on none when one of them cannot
// be asked. Where a start was cut short, the same command under the same name starts what is
// missing.
int RunDetach(Wiring& wiring, const PodOptions& options, const ExecOptions& exec);

// A job that is to be started: of each worker what it runs, and with which variables.
struct DetachedStart {
  std::string name;
  std::vector<WorkerAccess> workers;
  std::vector<std::string> commands;
  std::vector<std::map<std::string, std::string>> environments;
  // What makes it the same command as one under this name that was started before, whatever workers
  // were chosen.
  std::string identity;
  std::chrono::seconds grace = kEndingGrace;
  std::string container;  // its name; empty: it runs in none
  bool tell = true;       // shows what was started; else only what went wrong
};
// The same for a job whose workers differ. Shows what came of it; the exit code.
int StartOnWorkers(Wiring& wiring, const PodTarget& target, const DetachedStart& start);

struct JobsOptions {
  std::string pod;
  std::string workers;  // --worker; empty: all
};

int RunJobs(Wiring& wiring, const JobsOptions& options);

struct KillOptions {
  std::string pod;
  std::string workers;  // --worker; empty: all
  std::string job;
  std::optional<std::chrono::milliseconds> grace;  // between TERM and KILL
};

int RunKill(Wiring& wiring, const KillOptions& options);

}  // namespace podctl
