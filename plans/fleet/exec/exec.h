// One run of a command on the chosen workers of a pod: its input and its outputs, and the record
// from which a later run goes on. Shows nothing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/fleet/exec/outcome.h"
#include "plans/fleet/exec/output_store.h"
#include "plans/fleet/exec/record.h"
#include "plans/fleet/exec/request.h"
#include "plans/fleet/exec/standard_input.h"
#include "plans/fleet/worker_round.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"
#include "providers/ssh/transport.h"

namespace podctl {

// ---- Who sees commands while they run on many workers: what the transport tells, and between
// what.

class ExecWatcher : public ssh::Observer {
 public:
  // Before anything else; both are lent until OnEnd. `unheard` is to be asked to stop when nobody
  // takes what is told any more: `podctl exec POD -- yes | head -1` ends as `ssh HOST yes | head
  // -1` does.
  virtual void OnBegin(const std::vector<ssh::Job>& jobs, std::stop_source& unheard) = 0;
  // Some 20 times a second, on a thread of its own.
  virtual void Tick() = 0;
  virtual void OnEnd() = 0;  // after everything else
};

class ExecRun {
 public:
  // All but what is given by value is lent; without `input` the workers get none. `variables`: for
  // the command, their values are in no record. `scratch`: a folder for what is too much for the
  // memory.
  ExecRun(FileSystem& files, Clock& clock, LastRun& last, const ExecOptions& exec, PodTarget target,
          ExecChoice choice, ExecVariables variables, StandardInput* input, std::string scratch);

  // Opens what the outputs go to, and keeps the record for the first time.
  Result<void> Prepare();
  void Run(ssh::Transport& transport, ExecWatcher& watcher, const StopTokens& stops);

  const ExecOutcome& outcome() const { return outcome_; }
  const ExecRecord& record() const { return record_; }
  std::chrono::milliseconds elapsed() const { return elapsed_; }
  const Gatherer* gatherer() const { return kept_.gatherer(); }  // null: none was wanted
  const OutputFolder* folder() const { return kept_.folder(); }  // likewise
  const std::string& output_dir() const { return choice_.output_dir; }
  bool TakesOutput() const { return kept_.sink() != nullptr; }  // who watches gets no lines

 private:
  void Keep();

  FileSystem& files_;
  Clock& clock_;
  LastRun& last_;
  const ExecOptions& exec_;
  const PodTarget target_;
  const ExecChoice choice_;
  const ExecVariables variables_;
  StandardInput* const input_;
  const std::string scratch_;
  ExecRecord record_;
  ExecOutcome outcome_;
  std::chrono::milliseconds elapsed_{0};
  KeptOutputs kept_;
};

// ---- Runs commands on many workers at once, and hands on what they write and how they end. What
// exec and cp have in common.

struct CommandRequest {
  ssh::Limits limits;                         // without what is about ends
  std::optional<std::chrono::seconds> grace;  // waits for those that are asked to end
  OutputSink* sink = nullptr;                 // takes the output; null: who watches does. Lent
  // The next two never at the same time; both may be empty.
  std::function<void(std::size_t job, const ssh::WorkerResult& result)> on_result;
  std::function<void()> on_tick;
};

// Fills in the results of `outcome`, whose jobs are run. `stop`: ends them, beside `stops`.
void RunCommands(ssh::Transport& transport, Clock& clock, ExecOutcome* outcome,
                 const CommandRequest& request, ExecWatcher& watcher, std::stop_source& stop,
                 const StopTokens& stops);

}  // namespace podctl
