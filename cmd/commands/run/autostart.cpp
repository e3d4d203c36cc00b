#include "cmd/commands/run/autostart.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/commands/pod_target.h"
#include "cmd/commands/run/run.h"
#include "cmd/commands/worker_round.h"
#include "plans/execute/affected_jobs.h"
#include "providers/workers/jobs.h"

namespace podctl {
namespace {

void Tell(Wiring& wiring, JsonEvents* json, const std::string& text) {
  if (json != nullptr) return json->Log("info", text);
  wiring.streams().err << text << "\n" << std::flush;
}

// On some worker; where it cannot be asked, the start will say why.
bool RunsAlready(Wiring& wiring, const JobSpec& job) {
  const auto target = FindPod(wiring, job.pod);
  if (!target) return false;
  const auto answers =
      AskWorkers(wiring, target->address, target->workers, workers::ListCommand(job.name));
  return std::any_of(answers.begin(), answers.end(), [](const WorkerAnswer& answer) {
    const auto jobs = workers::ParseJobs(answer.lines);
    return jobs && std::any_of(jobs->begin(), jobs->end(), [](const workers::JobStatus& each) {
             return each.state == workers::JobStatus::State::kRunning;
           });
  });
}

}  // namespace

bool StartDueJobs(Wiring& wiring, JsonEvents* json, const PlanRun& run,
                  const ExecuteResult& result) {
  bool ok = true;
  for (const DueJob& due : JobsDue(run.spec, run.plan, result)) {
    if (wiring.interrupt().requested()) return false;
    const JobSpec& job = *due.job;
    if (!due.fresh && RunsAlready(wiring, job)) {
      Tell(wiring, json, fmt::format("Job {} runs on pod.{} already.", job.name, job.pod));
      continue;
    }
    RunOptions options;
    options.job = job.name;
    options.tell = false;
    if (StartDetached(wiring, run.spec, job, options) == 0) {
      Tell(wiring, json,
           fmt::format("Job {} started on pod.{}. Watch it with: podctl logs {} {} --follow",
                       job.name, job.pod, job.pod, job.name));
      continue;
    }
    ok = false;
    Tell(wiring, json,
         fmt::format("Job {} could not be started. Once that is mended: podctl run "
                     "{} --detach",
                     job.name, job.name));
  }
  return ok;
}

}  // namespace podctl
