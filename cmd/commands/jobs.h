// Commands that outlive the connection: what `podctl exec --detach`, `run` and `apply` share.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "cmd/output_filter.h"
#include "cmd/reporter.h"
#include "plans/fleet/exec/request.h"
#include "plans/fleet/run/supervise.h"
#include "plans/fleet/started_jobs.h"
#include "plans/session/known_pods.h"
#include "plans/spec/spec.h"
#include "providers/os/clock.h"

namespace podctl {

class Wiring;

// Starts the command of `exec --detach`.
int RunDetach(Wiring& wiring, const PodOptions& options, const ExecOptions& exec);
// Of a job that no chosen worker of the pod has.
Error NoSuchJob(const std::string& job, const std::string& pod);
// Who may be asked for jobs that come back with their pod. All of it is lent.
struct ReturnQuestion {
  Reporter& reporter;
  const KnownPods& pods;
  Clock& clock;
  std::function<Spec()> read_spec;  // one that is not at hand knows of no job
  std::stop_token stop;
};
// Whose log comes to no end, since its workers are gone or silent: where the job comes back with
// its pod that is said, and where its lines are. `lost`: the pod has no workers any more.
void SayThatItReturns(const ReturnQuestion& asked, const std::string& pod, const std::string& job,
                      bool lost);
// What is worth a word before a start.
void TellStart(const DetachedStart& start, const StartEvent& news, Streams& streams);
// Remembers that it was started from here, at `now`.
void NoteStarted(const StartedOnPods& started, const KnownPods& pods, const std::string& pod,
                 const std::string& job, Clock::SystemTime now);
// Shows what came of it; the exit code.
int ShowStart(const DetachReport& done, const KnownPods& pods, Reporter& reporter,
              Streams& streams);

}  // namespace podctl
