// Where files from workers land: archives that come from many at once are unpacked, each into its
// place, and what the workers say on standard error is kept for the end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "plans/fleet/exec/output_store.h"
#include "providers/tar/unpacker.h"

namespace podctl {

class ReceivedFiles final : public OutputSink {
 public:
  // Where a worker's files go: below `folder`, which is made; the one entry as `rename`, or all
  // under their own names when that is empty.
  struct Place {
    std::string folder;
    std::string rename;
  };

  // One place for each job. `asked` is lent; `stop` is asked when nothing more can be written here
  // (a full disk), or is worth waiting for: who is not through yet has failed.
  ReceivedFiles(const std::vector<Place>& places, const tar::RequestedNames& asked,
                std::stop_source stop);

  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override;
  void OnEnd(std::size_t job, const ssh::WorkerResult& result) override;
  // Whether something has come from it since this was asked last.
  bool TakeHeard(std::size_t job) { return std::exchange(workers_[job]->heard, false); }
  // It has said nothing for so long that nobody waits for it any more.
  void GiveUp(std::size_t job, const Error& why) { Fail(*workers_[job], why); }
  // What this machine refused.
  std::optional<Error> trouble() const override { return trouble_; }

  // Of one worker: why its files are not all here; nullopt: they are, or the worker has said why.
  const std::optional<Error>& ProblemOf(std::size_t job) const { return workers_[job]->problem; }
  const std::string& WordsOf(std::size_t job) const { return workers_[job]->words; }
  std::uint64_t files() const;
  std::uint64_t bytes() const { return bytes_; }  // of files, so far

 private:
  struct Worker {
    Worker(const Place& place, const tar::RequestedNames& asked)
        : unpacker(place.folder, place.rename, asked) {}
    tar::Unpacker unpacker;
    std::string words;
    std::optional<Error> problem;
    bool ended = false;
    bool heard = false;
  };
  void Fail(Worker& worker, const Error& error);
  void StopWaitingForFailed();

  std::vector<std::unique_ptr<Worker>> workers_;
  std::stop_source stop_;
  std::optional<Error> trouble_;
  std::uint64_t bytes_ = 0;
  std::size_t wanted_ = 0;  // workers that have neither ended nor failed
  std::size_t ended_ = 0;
};

}  // namespace podctl
