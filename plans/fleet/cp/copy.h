// One copy of files between this machine and workers of a pod. Shows nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "plans/fleet/cp/received_files.h"
#include "plans/fleet/exec/exec.h"
#include "plans/fleet/exec/outcome.h"
#include "plans/fleet/worker_round.h"
#include "providers/base/error.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"
#include "providers/ssh/transport.h"
#include "providers/tar/archive.h"
#include "providers/tar/requested_names.h"

namespace podctl {

// ---- A tar archive as what all workers read, each at its own pace.

class ArchiveFeed final : public ssh::InputFeed {
 public:
  explicit ArchiveFeed(tar::Archive& archive) : archive_(archive) {}  // lent
  std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size) override {
    const std::size_t got = archive_.Read(offset, bytes, size);
    sent_ += got;
    return got;
  }
  bool EndsAt(std::uint64_t offset) override { return offset >= archive_.size(); }
  void Listen(std::function<void()>) override {}  // all of it is there
  std::uint64_t sent() const { return sent_; }

 private:
  tar::Archive& archive_;
  std::atomic<std::uint64_t> sent_{0};
};

// ---- What the words of `podctl cp SRC… DST` mean: which of them lie on a pod's workers.

struct CopyPlan {
  bool upload = false;               // from here to the workers; else from them
  std::string pod;                   // without "pod."
  std::string workers;               // as WorkerSelection reads them; empty: none were named
  std::vector<std::string> sources;  // local paths, or remote ones without their pod
  std::string destination;           // likewise; empty: the home folder
};

// "research:~/x", "research/0,2-3:x", "pod.research:". A word is a local path when what stands
// before its first colon cannot name workers: "./a:b", "/tmp/a:b".
struct RemotePath {
  std::string pod;
  std::string workers;
  std::string path;
};
std::optional<RemotePath> ReadRemotePath(std::string_view word);

// `workers`: of --worker; may be empty. kInvalidArgument says what to write in place of it.
Result<CopyPlan> ReadCopy(const std::vector<std::string>& words, const std::string& workers);

// "research/0:~/x" of a plan that has the path `0:~/x`, which is seldom meant; empty: of any other.
std::string MeantWorkers(const CopyPlan& plan);

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
  CopyReport Run(ssh::Transport& transport, ExecWatcher& watcher, const StopTokens& stops);

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
  void NoteMissing(const std::string& folder);
  void RemoveEmptyFolders();
  std::string Mark(Random& random) const;
  void AddJobs(const std::string& command);
  class Silence;
  void GiveUpSilent(Silence* silence);
  void TakeProblems(CopyReport* report) const;
  std::vector<int> Missing(const ExecOutcome& outcome) const;

  FileSystem& files_;
  Clock& clock_;
  const CopyPlan plan_;
  const std::vector<WorkerAccess> workers_;
  ExecOutcome outcome_;
  std::unique_ptr<tar::Archive> archive_;  // of an upload
  std::unique_ptr<ArchiveFeed> feed_;
  std::optional<tar::RequestedNames> asked_;  // of a download, as the next
  std::unique_ptr<ReceivedFiles> received_;
  std::vector<std::string> made_;  // folders, each before those in it
  std::vector<bool> silent_;       // given up for that, by worker
  std::stop_source stop_;
};

}  // namespace podctl
