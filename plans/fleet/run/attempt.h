// One start of a job on its workers: all are made ready, then all start at once; their lines are
// told as they come. When one of a gang fails, the others, which wait for it for ever, end by
// themselves, and say who it was; where nobody says so, they are ended.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "plans/fleet/exec/exec.h"
#include "plans/fleet/exec/outcome.h"
#include "plans/fleet/worker_round.h"
#include "plans/jobs/restart.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"
#include "providers/workers/gang.h"
#include "providers/workers/runs.h"

namespace podctl {

struct AttemptPlan {
  workers::Run run;
  std::vector<WorkerAccess> workers;
  std::vector<std::string> texts;  // of each worker: POSIX shell, what it runs
  std::string setup;               // of all: what is done before the start
  // Of which `workers` are the members; null: each goes on to its end, whatever becomes of others.
  std::shared_ptr<const workers::Gang> gang = nullptr;
  std::optional<Heartbeat::Limits> heartbeat;  // steps are counted, and not shown
  std::optional<std::chrono::seconds> hang;    // it is ended after so long without a line
  // Asked now and then on a thread of its own while the job runs: why it must end; may be empty.
  std::function<std::optional<JobVerdict>(std::stop_token)> look;
};

// Why a worker of a gang failed, as the gang's workers have told it.
struct ToldFailure {
  RestartReason reason = RestartReason::kFailure;
  std::string cause;          // behind the worker's name: "was silent for 30s"
  bool unsupervised = false;  // who stood by its command was killed

  bool IsOfCommand() const;  // else its own end tells nothing
};

struct AttemptResult {
  ExecOutcome outcome;
  bool started = false;                      // else some worker could not be made ready
  std::optional<std::size_t> first;          // the job (index) that was the first not to end well
  std::optional<ToldFailure> told;           // of `first`; nullopt: podctl alone has seen it
  std::chrono::milliseconds first_after{0};  // from the start, when `started`
  std::chrono::milliseconds elapsed{0};      // of all of it
  std::optional<JobVerdict> reported;        // by `look`
  std::string stalled;                       // by the heartbeat, or without a line:
  bool hung = false;
  std::string ended_by;  // who ended it from elsewhere, as the workers tell; empty: nobody
  // After which those that were asked to end, and have not, are killed; nullopt: nobody was asked.
  std::optional<std::chrono::seconds> kill_in;
};

// A worker that failed while others go on. They are given `aftermath` to end by themselves; 0: they
// are being ended; nullopt: nobody ends them.
struct AttemptFailure {
  WorkerAccess worker;
  std::string cause;
  std::chrono::milliseconds after{0};  // from the start
  std::optional<std::chrono::seconds> aftermath;
};

// Who sees it: what becomes of all of them, and by `Commands` what each of the workers does.
class AttemptWatcher {
 public:
  virtual ~AttemptWatcher() = default;
  virtual ExecWatcher& Commands() = 0;
  // A line that was for podctl itself, in place of ExecWatcher::OnLine.
  virtual void OnOwnLine(std::size_t job, std::string_view line) = 0;
  virtual void OnStarted(std::size_t workers) = 0;
  virtual void OnFailure(const AttemptFailure& failure) = 0;  // on the thread of Tick
};

AttemptResult RunAttempt(ssh::Transport& transport, Clock& clock, const AttemptPlan& plan,
                         AttemptWatcher& watcher, const StopTokens& stops);

// The signal that ended it, "KILL"; empty: none did. A shell tells a signal by an exit code from
// 129.
std::string SignalOf(const ssh::WorkerResult& result);
// "exit code 3", "killed by KILL (exit code 137)".
std::string CauseOfEnd(const ssh::WorkerResult& result);
// Of result.first, which there must be.
std::string CauseOfFirst(const AttemptResult& result);
// Whether that is its machine's or its connection's fault, and not its command's.
bool IsFirstByMachine(const AttemptResult& result);
// For JudgeEnd, without what only the service knows.
JobEnd EndOf(const AttemptResult& result);
// Everywhere, with exit code 0.
bool EndedWell(const AttemptResult& result);
// Whether it was ended from here or by its gang, or never began.
bool IsConsequence(const ssh::WorkerResult& result);

}  // namespace podctl
