// What came of a command on many workers: who is not well, and workers by what happened to them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/fleet/exec/output_store.h"
#include "providers/ssh/transport.h"

namespace podctl {

struct ExecOutcome {
  std::vector<ssh::Job> jobs;
  std::vector<ssh::WorkerResult> results;  // of the jobs, in their order
  bool interrupted = false;
};

// What each kind of trouble means for who has to decide what to do next.
enum class Fate { kFailed, kLost, kCancelled, kSkipped };
inline constexpr std::size_t kFates = 4;

struct CauseGroup {
  std::string cause;
  std::string_view shown;  // of it, what the heading does not say already
  std::vector<int> workers;
  std::vector<std::string> details;  // what differs from worker to worker; of the first ones
};
// How a cause is worded: the same for all workers that it happened to.
using CauseWords = std::string (*)(const ssh::WorkerResult&);
// Those that are not ok, by fate, then the biggest group first.
std::array<std::vector<CauseGroup>, kFates> GroupsByFate(const ExecOutcome& outcome,
                                                         CauseWords words = ssh::CauseOf);

// Host keys seen for the first time, by worker.
std::map<int, HostKeyText> LearnedKeys(const ExecOutcome& outcome);

// ---- --gather: equal outputs once, with the workers that wrote them.
//
// A group is who wrote the same on both streams and ended the same way. Memory is bounded
// (output_store.h), whatever the outputs are.

class Gatherer final : public OutputSink {
 public:
  // `jobs` is lent.
  Gatherer(const std::vector<ssh::Job>& jobs, std::string scratch_folder);

  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override;
  void OnEnd(std::size_t job, const ssh::WorkerResult& result) override;
  std::optional<Error> trouble() const override { return store_.trouble(); }

  struct Group {
    OutputStore::Place out;
    OutputStore::Place err;
    std::string end;  // "" for exit code 0
    std::vector<int> workers;
  };
  // When all have ended: the biggest first. Workers on which the command was never started are in
  // none.
  std::vector<Group> Groups() const;
  const OutputStore& store() const { return store_; }
  const WorkerAccess& any_worker() const { return jobs_.front().worker; }

 private:
  struct Worker {
    OutputStore::Place out;
    OutputStore::Place err;
    std::string end;
    bool started = false;
  };

  const std::vector<ssh::Job>& jobs_;
  OutputStore store_;
  std::vector<Worker> workers_;
};

// ---- Outputs that are not only shown: gathered, in files, or both.

class KeptOutputs {
 public:
  struct Settings {
    bool gather = false;
    std::string folder;      // empty: no files
    bool replace = false;    // the files that are there; else that is kAlreadyExists
    std::string below = {};  // the folder in `folder`; empty: that itself
  };
  // `jobs` and `files` are lent. `scratch`: a folder for what is too much for the memory.
  static Result<KeptOutputs> Open(const std::vector<ssh::Job>& jobs, FileSystem& files,
                                  const Settings& settings, const std::string& scratch);

  OutputSink* sink() const;  // of both; null: neither was wanted
  Gatherer* gatherer() const { return gatherer_.get(); }
  OutputFolder* folder() const { return folder_.get(); }

 private:
  std::unique_ptr<Gatherer> gatherer_;
  std::unique_ptr<OutputFolder> folder_;
  std::unique_ptr<SinkPair> both_;
};

}  // namespace podctl
