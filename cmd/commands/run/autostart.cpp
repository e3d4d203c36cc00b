#include "cmd/commands/run/autostart.h"

#include <fmt/format.h>

#include "cmd/commands/pod_rounds.h"
#include "cmd/commands/pod_target.h"
#include "cmd/commands/run/run.h"
#include "cmd/reporter.h"
#include "plans/fleet/jobs.h"
#include "plans/session/affected_jobs.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// On some worker; where it cannot be asked, the start will say why.
bool RunsAlready(Wiring& wiring, const JobSpec& job) {
  const auto target = FindPod(wiring, job.pod);
  if (!target) return false;
  PodRounds rounds(wiring, target->address);
  return RunsSomewhere(ListJobs(*rounds, target->workers, job.name));
}

}  // namespace

bool StartDueJobs(Wiring& wiring, const PlanRun& run, const ExecuteResult& result) {
  bool ok = true;
  for (const DueJob& due : JobsDue(run.spec, run.plan, result)) {
    if (wiring.interrupt().requested()) return false;
    const JobSpec& job = *due.job;
    if (!due.fresh && RunsAlready(wiring, job)) {
      wiring.reporter().Note(fmt::format("Job {} runs on pod.{} already.", job.name, job.pod));
      continue;
    }
    RunOptions options;
    options.job = job.name;
    options.tell = false;
    if (StartDetached(wiring, run.spec, job, options) == 0) {
      wiring.reporter().Note(
          fmt::format("Job {} started on pod.{}. Watch it with: podctl logs {} {}{} --follow",
                      job.name, job.pod, job.pod, job.name,
                      job.workers.empty() ? "" : " --worker " + ShellQuote(job.workers)));
      continue;
    }
    ok = false;
    wiring.reporter().Note(
        fmt::format("Job {} could not be started. Once that is mended: podctl run "
                    "{} --detach",
                    job.name, job.name));
  }
  return ok;
}

}  // namespace podctl
