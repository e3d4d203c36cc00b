// Commands that outlive the connection: `podctl exec --detach NAME`, `podctl jobs`, `podctl kill`.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cmd/commands/pod_target.h"
#include "cmd/wiring.h"
#include "plans/fleet/exec/options.h"
#include "plans/fleet/jobs.h"

namespace podctl {

// Starts the command of `exec --detach`.
int RunDetach(Wiring& wiring, const PodOptions& options, const ExecOptions& exec);
// Starts a job, and shows what came of it; without `tell` only what went wrong. The exit code.
int StartOnWorkers(Wiring& wiring, const PodTarget& target, const DetachedStart& start, bool tell);

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
