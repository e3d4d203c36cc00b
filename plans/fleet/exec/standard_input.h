// This process's standard input for all workers, as it comes: nothing is waited for, so a silent
// pipe of a CI runner holds nobody up, and `tail -f log | podctl exec …` works.
//
// Every worker gets all of it, the last one to start too, so it is all kept: up to a limit in
// memory, the rest in a scratch file. No more is read than some way ahead of the worker that reads
// fastest: `yes | podctl exec POD -- head -1` ends.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "providers/base/error.h"
#include "providers/os/descriptor.h"
#include "providers/os/environment.h"
#include "providers/os/spill_file.h"
#include "providers/ssh/transport.h"

namespace podctl {

// Where what is too much for memory goes: $TMPDIR, else /tmp.
std::string ScratchFolder(const Environment& environment);

class StandardInput final : public ssh::InputFeed {
 public:
  struct Limits {
    std::size_t memory = std::size_t{8} << 20;      // bytes
    std::uint64_t ahead = std::uint64_t{16} << 20;  // of the fastest reader
    std::uint64_t total = std::uint64_t{16} << 30;
  };

  // Null when it is a terminal: then it is somebody's keyboard.
  static std::unique_ptr<StandardInput> OfThisProcess(std::string scratch_folder);

  // `fd` is lent.
  StandardInput(int fd, std::string scratch_folder, Limits limits);
  ~StandardInput() override;  // reads no more
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

  std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size) override;
  bool EndsAt(std::uint64_t offset) override;
  void Listen(std::function<void()> more) override;

  bool empty() const;  // nothing has come so far
  // Why the workers did not get all of it; they were told that it ended.
  std::optional<Error> trouble() const;

 private:
  void Pump();
  bool MayRead();
  void Keep(std::string_view bytes);
  void End(const std::optional<Error>& trouble);

  const int fd_;
  const std::string scratch_folder_;
  const Limits limits_;
  const Wakeup wakeup_;               // of the thread
  mutable std::mutex mutex_;          // of what follows
  std::string memory_;                // the first bytes
  std::optional<SpillFile> scratch_;  // the ones after them
  std::uint64_t read_most_ = 0;       // by the fastest reader
  bool ended_ = false;
  bool stop_ = false;
  std::optional<Error> trouble_;
  std::function<void()> more_;
  std::uint64_t size() const { return memory_.size() + (scratch_ ? scratch_->size() : 0); }
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace podctl
