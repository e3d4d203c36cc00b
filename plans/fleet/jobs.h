// Commands that outlive the connection: starts them on many workers at once, lists and ends them.
// Shows nothing.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plans/fleet/worker_round.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/ending_text.h"
#include "providers/os/clock.h"
#include "providers/workers/jobs.h"

namespace podctl {

struct WorkerJobs {
  int worker = 0;
  std::vector<workers::JobStatus> jobs;
};

// "runs", "is still being ended by alice@laptop", "ended with exit code 3", "was killed by KILL
// (exit code 137)", "was ended by alice@laptop: killed by TERM (exit code 143)", "died without an
// exit code".
std::string JobStateWords(const workers::JobStatus& job);
// Who had it ended: "alice@laptop" of "alice@laptop: podctl kill research train"; empty: nobody
// did.
std::string WhoEnded(const workers::JobStatus& job);

// Somebody has asked for its end, which has not come yet: it has its grace.
bool IsEnding(const workers::JobStatus& job);
// Of a gang: its part here has ended, and it goes on when others' have.
bool WaitsForOthers(const workers::JobStatus& job);

// What the workers' gangs say of a job, taken together: of the furthest attempt who failed first
// and who is waited for. nullopt: it is none.
std::optional<workers::GangNews> GangOf(const std::vector<WorkerJobs>& found,
                                        const std::string& job);

Error BadJobName(const std::string& name);

struct JobsReport {
  std::vector<WorkerAnswer> answers;
  std::vector<WorkerJobs> found;  // of those that answered
};
// `name` empty: all jobs.
JobsReport ListJobs(WorkerRounds& rounds, const std::vector<WorkerAccess>& chosen,
                    const std::string& name);

// Where it cannot be asked, it counts as not running.
bool RunsSomewhere(const JobsReport& report);
// The job of this name, of a report about all of them.
bool RunsSomewhere(const JobsReport& report, const std::string& name);

struct KillReport : JobsReport {
  bool known = false;   // some worker had such a job
  bool runs = false;    // and somewhere it still does
  WorkerGroups became;  // what became of it, by JobStateWords
  // Of a gang that was to be ended on some of its workers: of the others, who were asked what
  // became of it there, and where nobody has told them of its end.
  std::vector<WorkerAnswer> others;
  std::vector<int> untold;
};
// On `chosen`. When that is some of `all`, the pod's, and the job a gang, the others are told by
// their own: they are waited for, too.
KillReport KillJob(WorkerRounds& rounds, const std::vector<WorkerAccess>& all,
                   const std::vector<WorkerAccess>& chosen, const workers::JobKill& kill);

// A job that is to be started: of each worker what it runs, and with which variables.
struct DetachedStart {
  std::string name;
  std::vector<WorkerAccess> workers;
  std::vector<std::string> commands;
  std::vector<std::map<std::string, std::string>> environments;
  // What makes it the same command as one under this name that was started before, whatever workers
  // were chosen.
  std::string identity;
  std::string run_end = {};  // of the run's name, for who wants to know it before; else empty
  std::chrono::seconds grace = kEndingGrace;
  std::string container = {};  // its name; empty: it runs in none
  // Its workers live and die together; the members are `workers`. Its certificate is made at the
  // start.
  std::optional<workers::Gang> gang = {};
};
// With what the name of a run ends: 8 hex digits; and whether this run's does.
std::string NewRunEnd(Random& random);
bool IsRunWithEnd(const std::string& run, const std::string& end);

// Of one command for all of them. `record`: of `pod`.
DetachedStart StartOfCommand(const std::string& name, const std::string& pod,
                             const PodRecord& record, const std::vector<WorkerAccess>& chosen,
                             const std::string& command,
                             const std::map<std::string, std::string>& variables);

// What is known before the start, and worth a word then.
struct StartEvent {
  std::set<int> already;            // workers on which the same run is under way
  std::set<int> ended;              // on which a gang's was that had lost others, and is ended now
  std::optional<std::size_t> most;  // so many can be connected to at once: they begin in turn
};

struct StartReport {
  // The start of all of them that were not `already` at it; before that, of the look at all.
  std::vector<WorkerAnswer> answers;
  bool begun = false;            // else it did not come to a start, because of:
  bool interrupted = false;      //   the user,
  std::optional<Error> refusal;  //   another job of this name, or a worker without an answer
  std::set<int> already;
  std::vector<int> started;

  bool Whole() const { return begun && started.size() == answers.size(); }
};
// Why StartJob would start nothing now: a job of this name is at work, be it another one or this.
// nullopt: nothing is known against it; who does not answer is StartJob's to tell.
std::optional<Error> WhyNotToStart(WorkerRounds& rounds, const DetachedStart& start);

// Starts it on all of its workers, or on none when one of them cannot be asked. Where a start was
// cut short, the same command under the same name starts what is missing; what is left of a gang is
// ended, and all of it is started anew. `on_event` is called at
// most once, before the start.
StartReport StartJob(WorkerRounds& rounds, Random& random, const DetachedStart& start,
                     const std::function<void(const StartEvent&)>& on_event);

}  // namespace podctl
