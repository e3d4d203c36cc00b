// What a transport's threads have for the thread that called Run: phases, output and results of
// each job, in order. They never wait for the reader: output beyond a small buffer goes to a
// scratch file, and beyond that the job is Full, so that only its own worker is read no further.
// The reader serves the jobs in turn, so that a worker that talks much keeps nobody waiting.
//
// One reader; one writer at a time for each job.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "providers/os/spill_file.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

class Outbox {
 public:
  static constexpr std::size_t kChunk = std::size_t{32} * 1024;  // bytes a Put may bring at most

  struct Sizes {
    std::size_t near_job = std::size_t{64} * 1024;           // bytes in memory, a job
    std::size_t near_all = std::size_t{4} * 1024 * 1024;     // and all jobs together
    std::uint32_t far_job = 64 * 1024 * 1024 / (64 * 1024);  // blocks on disk, a job
    std::uint32_t far_all = 2048U * 1024 / 64;               // and all jobs: 2 GiB
  };

  // One job's share of what has happened since its last turn.
  struct Turn {
    std::size_t job = 0;
    Cause trouble;                         // why it is tried again; before the phases
    std::vector<Phase> phases;             // before the output
    std::string output;                    // for Unpack
    std::unique_ptr<WorkerResult> result;  // the job has ended; after the output
  };

  // `on_capacity` is called on the reader's thread when a job that was Full has room again.
  Outbox(std::size_t jobs, Sizes sizes, std::function<void()> on_capacity);

  // Writer. Put is never refused, but a polite writer asks Full first.
  void PutPhase(std::size_t job, Phase phase);
  void PutTrouble(std::size_t job, Cause why);  // in the place of one not yet taken
  void PutOutput(std::size_t job, Stream stream, std::string_view bytes);
  void PutResult(std::size_t job, WorkerResult result);
  // Whether `job` must wait; then it is among TakeResumable() later.
  bool Full(std::size_t job);
  std::vector<std::size_t> TakeResumable();
  void Flush();        // after a series of Puts: wakes the reader
  void DropBacklog();  // the run was stopped: what lies on disk is not wanted any more
  void Close();

  // Reader. Waits; false when all has been taken and nothing more will come. What many jobs bring
  // one after another it takes in handfuls, some milliseconds late: a wake-up for each costs more
  // than what it is woken for.
  bool Take(Turn& turn);
  static void Unpack(std::string_view output,
                     const std::function<void(Stream, std::string_view)>& take);

 private:
  // A block on disk: bytes up to `end` are written, those before `begin` were read.
  struct Block {
    std::uint32_t number = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  struct Box {
    std::string near;
    std::list<Block> far;  // after `near`
    std::string last;      // after `far`, when the disk is full
    Cause trouble;
    std::vector<Phase> phases;
    std::unique_ptr<WorkerResult> result;
    bool queued = false;
    bool waits_for_capacity = false;
  };

  bool Fits(const Box& box, std::size_t bytes) const;
  // `far_limit`: blocks on disk below which there is room.
  bool HasCapacity(const Box& box, std::uint32_t far_limit) const;
  std::size_t PutFar(Box& box, Stream stream, std::string_view bytes);
  void Enqueue(std::size_t job);
  void WaitForNews(std::unique_lock<std::mutex>& lock);
  void TakeFar(Box& box, Turn& turn, std::unique_lock<std::mutex>& lock);

  const Sizes sizes_;
  const std::function<void()> on_capacity_;
  ScratchFile scratch_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Box> boxes_;
  std::deque<std::size_t> ready_;       // jobs with something to take, in turn
  std::vector<std::size_t> resumable_;  // jobs that were Full and are not any more
  std::size_t near_bytes_ = 0;
  bool disk_full_ = false;
  bool dropped_ = false;
  bool closed_ = false;
  bool collecting_ = false;  // the reader is awake soon, and need not be woken
};

// Hands the observer what the outbox has, cut into lines, until it is closed and all is delivered.
std::vector<WorkerResult> Deliver(Outbox& outbox, std::size_t jobs, Observer& observer);

// As long as it lives, news of a feed (null: of none) are passed on.
class Listening {
 public:
  Listening(InputFeed* feed, const std::function<void()>& more) : feed_(feed) {
    if (feed_ != nullptr) feed_->Listen(more);
  }
  ~Listening() {
    if (feed_ != nullptr) feed_->Listen({});
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  InputFeed* feed_;
};

}  // namespace podctl::ssh
