// One copy of files between this machine and workers of a pod. Shows nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/fleet/cp/archive_feed.h"
#include "plans/fleet/cp/ends.h"
#include "plans/fleet/cp/received_files.h"
#include "plans/fleet/exec/outcome.h"
#include "plans/fleet/exec/watcher.h"
#include "plans/fleet/stops.h"
#include "plans/fleet/worker_round.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"
#include "providers/tar/archive.h"
#include "providers/tar/asked_names.h"

namespace podctl {

struct CopyReport {
  bool upload = false;
  ExecOutcome outcome;
  std::chrono::milliseconds elapsed{0};
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> words;  // of each worker, what it said on standard error
  WorkerGroups problems;           // with what workers sent, by what is wrong
  std::optional<Error> trouble;    // of this machine: a full disk, a file that changed
  // Workers that have not all of it; empty where no worker has what is asked for.
  std::vector<int> missing;
};

class Copy {
 public:
  // `files` and `clock` are lent.
  Copy(FileSystem& files, Clock& clock, CopyPlan plan, std::vector<WorkerAccess> workers)
      : files_(files), clock_(clock), plan_(std::move(plan)), workers_(std::move(workers)) {}

  // Opens what is sent, and makes what is written to.
  Result<void> Prepare(Random& random);
  CopyReport Run(ssh::Transport& transport, ExecWatcher& watcher, const Stops& stops);

  const CopyPlan& plan() const { return plan_; }
  // Bytes so far, and of how many; nullopt: that is not known. On any thread.
  struct Progress {
    std::uint64_t done = 0;
    std::optional<std::uint64_t> all;
  };
  Progress HowFar() const;

 private:
  Result<void> PrepareUpload(Random& random);
  Result<void> PrepareDownload();
  Result<std::vector<ReceivedFiles::Place>> Places();
  std::string Mark(Random& random) const;
  void AddJobs(const std::string& command);
  void TakeProblems(CopyReport* report) const;
  std::vector<int> Missing(const ExecOutcome& outcome) const;

  FileSystem& files_;
  Clock& clock_;
  const CopyPlan plan_;
  const std::vector<WorkerAccess> workers_;
  ExecOutcome outcome_;
  std::unique_ptr<tar::Archive> archive_;  // of an upload
  std::unique_ptr<ArchiveFeed> feed_;
  std::optional<tar::AskedNames> asked_;  // of a download, as the next
  std::unique_ptr<ReceivedFiles> received_;
  std::stop_source stop_;
};

}  // namespace podctl
