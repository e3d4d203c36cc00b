// What the workers of a job write, kept beside what is shown of it: gathered, in files, or both, in
// the ways of `podctl exec`. Each start of the job is kept by itself. Line by line, without the
// lines that are for podctl; a newline stands in a file where the worker wrote one.
//
// Stands between who runs a job and who watches it. Thread safe, as an ExecWatcher has to be.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plans/fleet/exec/exec.h"
#include "plans/fleet/exec/outcome.h"
#include "plans/fleet/exec/record.h"
#include "plans/fleet/worker_round.h"
#include "providers/base/error.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"

namespace podctl {

class RunOutputs final : public ExecWatcher {
 public:
  struct Settings {
    bool gather = false;
    std::string folder;  // empty: none. That of a restart is "restart-1" in it, and no link
    bool overwrite = false;
    std::optional<std::set<int>> gathered;  // the outputs of these workers alone; nullopt: of all
    std::string scratch;                    // a folder for what is too much for the memory
  };

  // All but what is given by value is lent. `about`: the job, its pod and command.
  RunOutputs(ExecWatcher& watcher, FileSystem& files, Clock& clock, Settings settings,
             ExecRecord about)
      : watcher_(watcher),
        files_(files),
        clock_(clock),
        settings_(std::move(settings)),
        about_(std::move(about)) {}

  // Makes the folder, with a results.json that says that nothing has come of it yet. kAlreadyExists
  // where it holds anything that may not be replaced; what is to be replaced of the restarts of an
  // earlier run goes, so that nobody takes it for this run's.
  Result<void> Prepare();
  // It did not come to a start, since of some of these there was no answer.
  void OnNotBegun(const std::vector<WorkerAnswer>& answers);

  void OnBegin(const std::vector<ssh::Job>& jobs, std::stop_source& unheard) override;
  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override;
  void OnOpenLine(std::size_t job, ssh::Stream stream) override;
  void OnPhase(std::size_t job, ssh::Phase phase) override { watcher_.OnPhase(job, phase); }
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override {
    watcher_.OnTryAgain(job, why);
  }
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override;
  void Tick() override;
  void OnEnd() override;

  // Of the last start, when it has ended; null: it was not wanted. Lives until the next start.
  const KeptOutputs* kept() const { return kept_ ? &*kept_ : nullptr; }
  const std::string& folder() const { return settings_.folder; }
  // Why not everything could be kept, of any start; nullopt: it could.
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  std::string BelowOfStart() const;
  Result<void> RemoveRestarts();
  void Save();

  struct Kept {
    std::uint64_t bytes[2] = {0, 0};  // by ssh::Stream: what its files hold
    bool open[2] = {false, false};    // the next line has no newline
  };

  ExecWatcher& watcher_;
  FileSystem& files_;
  Clock& clock_;
  const Settings settings_;
  const ExecRecord about_;
  std::mutex mutex_;  // of what follows, while a start goes on
  int starts_ = 0;
  std::vector<Kept> sizes_;     // of the jobs
  std::vector<ssh::Job> jobs_;  // as the sinks know them; whoever runs them may be done with his
  std::optional<KeptOutputs> kept_;
  ExecRecord record_;
  std::optional<Error> trouble_;
  Clock::SteadyTime saved_at_{};
  bool changed_ = false;  // since then
};

}  // namespace podctl
