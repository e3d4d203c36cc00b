// Runs a job of the spec to its end, and starts it again where the spec says so and why; or only
// starts it. Shows nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plans/fleet/jobs.h"
#include "plans/fleet/run/attempt.h"
#include "plans/fleet/run/prepare.h"
#include "plans/fleet/worker_round.h"
#include "plans/jobs/launch.h"
#include "plans/jobs/restart.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/spec.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"
#include "providers/provider.h"
#include "providers/ssh/transport.h"

namespace podctl {

// The pod of a job, as the state has it whenever it is asked for.
class JobPod {
 public:
  virtual ~JobPod() = default;
  virtual Result<PodRecord> Record() = 0;
  virtual Result<PodTarget> Target() = 0;  // an error where its workers cannot answer
};

Result<ReadyLaunch> PrepareLaunch(JobPod& pod, const Spec& spec, const JobSpec& job,
                                  const LaunchRequest& request);

struct RunRequest {
  std::vector<std::string> arguments;  // behind the command and its flags
  std::string workers;                 // in place of the job's own selection; may be empty
  bool drain = true;                   // end what earlier runs left
  bool drain_jobs = false;             // and jobs of podctl that are in the way
  bool sync = true;
  std::string owner;  // who runs it: "alice@laptop"
  int attempt = 1;    // number of its first start: earlier ones were on another node
  // Of a detached one: with what its run's name ends, so that it is known before it begins. Empty:
  // something new.
  std::string start;
};

// Who sees a run: each of its starts, and what is between them.
class JobWatcher : public AttemptWatcher {
 public:
  virtual void OnPrepareEvent(const PrepareEvent& news) = 0;
  // `ended` is over, and it is started for the `restart`-th time again.
  virtual void OnRestart(const AttemptResult& ended, int restart, const JobVerdict& why) = 0;
  // For the pod: one that is not there (`absent`), or whose workers do not answer.
  virtual void OnWaiting(bool absent) = 0;
  virtual bool IsHeard() = 0;  // somebody takes what the job writes
};

struct RunReport {
  enum class End {
    kNotBegun,     // there was a blocker
    kInterrupted,  // by the user, while the job was not running
    kUnheard,      // nobody takes what it writes any more
    kEnded,
  };
  End end = End::kEnded;
  bool begun = false;    // some start came to a job that ran, or could not get ready
  AttemptResult result;  // of the last start
  int restarts = 0;
  std::optional<JobVerdict> verdict;  // of kEnded: why it did not end well
  std::optional<Blocker> blocker;     // why it did not begin, or not again
};

// What a run goes through. All of it is lent.
struct JobDoors {
  ssh::Transport& transport;
  WorkerRounds& rounds;
  Clock& clock;
  FileSystem& files;
  Provider* provider;  // null where the service cannot be asked
  JobPod& pod;
};

RunReport SuperviseJob(const JobDoors& doors, const Spec& spec, const JobSpec& job,
                       const workers::Run& run, const RunRequest& request, JobWatcher& watcher,
                       const StopTokens& stops);

// `id`: of the run, the same for all its starts.
workers::Run RunOf(const JobSpec& job, const RunRequest& request, const std::string& id);

// What a job goes through that is started so that it outlives whoever starts it. All of it is lent.
struct DetachDoors {
  WorkerRounds& rounds;
  FileSystem& files;
  Random& random;
  JobPod& pod;
};

// Who hears of it.
struct DetachHooks {
  PrepareListener on_event;
  std::function<void(const DetachedStart& start, const StartEvent& news)> on_start;
};

struct DetachReport {
  std::optional<Blocker> blocker = {};  // why it did not come to a start; else there is one:
  PodTarget target = {};
  DetachedStart start = {};
  StartReport report = {};
};

DetachReport DetachJob(const DetachDoors& doors, const Spec& spec, const JobSpec& job,
                       const RunRequest& request, const DetachHooks& hooks);

}  // namespace podctl
