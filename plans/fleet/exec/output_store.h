// The outputs of many workers, of which each distinct one is kept once: what costs memory or disk
// is how much the outputs differ, not how many workers there are.
//
// The outputs form a tree. A worker whose bytes are the same as another's follows that one's; where
// they begin to differ it goes on by itself, on a branch. So two outputs are equal just when they
// end at the same place, whoever was first and in whichever pieces they came. Up to a limit in
// memory, what is more in a scratch file. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plans/fleet/exec/record.h"
#include "providers/base/error.h"
#include "providers/os/file_system.h"
#include "providers/os/spill_file.h"
#include "providers/ssh/transport.h"

namespace podctl {

class OutputStore {
 public:
  // How far an output has come; a new one stands at the beginning of everything.
  struct Place {
    std::size_t branch = 0;
    std::uint64_t at = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Limits {
    std::size_t memory = std::size_t{8} << 20;        // bytes
    std::uint64_t scratch = std::uint64_t{16} << 30;  // bytes
  };

  explicit OutputStore(std::string scratch_folder) : OutputStore(std::move(scratch_folder), {}) {}
  OutputStore(std::string scratch_folder, Limits limits);

  // `bytes` come next in the output that stands at `place`. When there is no room left for them
  // trouble() says so, from then on nothing is kept, and places mean nothing any more.
  void Add(Place& place, std::string_view bytes);
  const std::optional<Error>& trouble() const { return trouble_; }

  // The output that ends at `place`, from its beginning, in pieces of at most 64 KiB, for as long
  // as `take` says that it wants more.
  Result<void> Read(Place place, const std::function<bool(std::string_view)>& take) const;
  std::uint64_t SizeOf(Place place) const;

  std::uint64_t in_memory() const { return in_memory_; }  // bytes

 private:
  // A piece of a branch in the scratch file.
  struct Extent {
    std::uint64_t end;      // where in the branch it ends
    std::uint64_t at_file;  // where in the file it begins
  };
  struct Branch {
    Place from;                   // where it left another; what came before stands there
    std::uint64_t size = 0;       // without what came before
    std::vector<Extent> extents;  // ascending, without gaps, from 0
    std::string memory;           // what follows them
    std::map<std::pair<std::uint64_t, char>, std::size_t> forks;  // left at, with: goes on there
    std::uint64_t in_file() const { return extents.empty() ? 0 : extents.back().end; }
  };

  static std::uint64_t LastSize(const std::vector<Extent>& extents);
  std::string_view Piece(const Branch& branch, std::uint64_t at, std::size_t most) const;
  void Append(Branch& branch, std::string_view bytes);
  void Spill();
  void Fail(const Error& error);

  const std::string scratch_folder_;
  const Limits limits_;
  std::vector<Branch> branches_;
  std::optional<SpillFile> scratch_;
  std::uint64_t in_memory_ = 0;
  mutable std::string buffer_;            // of Piece
  mutable std::optional<Error> trouble_;  // a read can fail as well
};

// ---- What becomes of the bytes that commands write on the workers: shown line by line, gathered,
// or written to files.

class OutputSink {
 public:
  virtual ~OutputSink() = default;
  // As they come: pieces of any length, of one stream in their order.
  virtual void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) = 0;
  // Once for each job; nothing of it comes afterwards.
  virtual void OnEnd(std::size_t job, const ssh::WorkerResult& result) = 0;
  // Why not everything could be kept; nullopt: it could.
  virtual std::optional<Error> trouble() const = 0;
};

// Two sinks that take the same. Lent.
class SinkPair final : public OutputSink {
 public:
  SinkPair(OutputSink& first, OutputSink& second) : first_(first), second_(second) {}
  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override {
    first_.OnBytes(job, stream, bytes);
    second_.OnBytes(job, stream, bytes);
  }
  void OnEnd(std::size_t job, const ssh::WorkerResult& result) override {
    first_.OnEnd(job, result);
    second_.OnEnd(job, result);
  }
  std::optional<Error> trouble() const override {
    return first_.trouble() ? first_.trouble() : second_.trouble();
  }

 private:
  OutputSink& first_;
  OutputSink& second_;
};

// ---- --output-dir: the outputs of the workers as files, and results.json beside them.
//
//   research-3.out, research-3.err    what worker 3 wrote, byte by byte; made when its command ran
//   results.json                      what came of it (record.h), whole at any moment, also after
//                                     a power cut
//
// results.json is there from the beginning, says what is known so far, and is what --retry-failed
// reads: a run that was killed left it behind too.

class OutputFolder final : public OutputSink {
 public:
  enum class Found { kRefuse, kReplace };  // what to do about results that are there already

  // Makes the folder `path`, or `below` in it, which is no link. kAlreadyExists for one that holds
  // anything, unless it is to be replaced: then the files of these jobs and results.json are, and
  // others stay. `jobs` are lent.
  static Result<std::unique_ptr<OutputFolder>> Open(const std::vector<ssh::Job>& jobs,
                                                    FileSystem& files, const std::string& path,
                                                    Found found, const std::string& below = {});

  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override;
  void OnEnd(std::size_t job, const ssh::WorkerResult& result) override;
  std::optional<Error> trouble() const override { return trouble_; }

  // Names the files of a worker in its entry; empty where the command never ran.
  void Name(std::size_t job, WorkerEntry& entry) const;
  // Replaces results.json.
  void Save(const ExecRecord& record);

  static constexpr const char* kRecord = "results.json";
  static std::string RecordPath(const std::string& folder) { return folder + "/" + kRecord; }

 private:
  struct File {
    std::string name;
    std::string pending;  // not written yet
    bool made = false;
  };
  struct Worker {
    File out;
    File err;
  };

  OutputFolder(const std::vector<ssh::Job>& jobs, std::unique_ptr<HeldFolder> folder);
  void Write(File& file);
  void WriteAll();
  void Fail(const Error& error);

  const std::unique_ptr<HeldFolder> folder_;
  std::vector<Worker> workers_;
  std::size_t pending_ = 0;  // bytes, of all files
  std::optional<Error> trouble_;
};

}  // namespace podctl
