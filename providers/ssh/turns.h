// Whose turn it is: the jobs of one run, handed out to the threads that do them, tried again later
// where that is worth it, and given up when the run is to stop or too many have failed. Keeps the
// results. Knows nothing of connections.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/os/clock.h"
#include "providers/ssh/backoff.h"
#include "providers/ssh/transport.h"
#include "providers/ssh/wakeup.h"

namespace podctl::ssh {

// Thread safe.
class Turns {
 public:
  using Time = Clock::SteadyTime;
  // Called on any of the threads, for one job from one thread at a time.
  using OnResult = std::function<void(std::size_t job, const WorkerResult& result)>;
  // The job will be tried again; called before another thread may have it. Must not wait.
  using OnAgain = std::function<void(std::size_t job, const Cause& why)>;

  Turns(std::size_t jobs, const Limits& limits, Clock& clock, Random& random, std::stop_token stop,
        OnResult on_result, OnAgain on_again);

  // The job to try next; waits until there is one. nullopt: all have ended. Each job that is handed
  // out comes back through just one of the two below.
  std::optional<std::size_t> Next();
  void End(std::size_t job, WorkerResult result);
  // It failed before its command was sent, and that may pass: it comes again after a while, or ends
  // so when its time is over.
  void EndOrTryAgain(std::size_t job, WorkerResult result);

  // Readable, and stays so, once nothing may be started any more (stop, or too many failures).
  int halt_fd() const { return halt_.fd(); }
  // What a job that has not sent its command ends with then.
  WorkerResult Halted(std::size_t job) const;
  int CountAttempt(std::size_t job);  // the new number
  Time start() const { return start_; }

  std::vector<WorkerResult> TakeResults() { return std::move(results_); }

 private:
  struct Progress {
    explicit Progress(Random& random) : backoff(random) {}
    Backoff backoff;
    int attempts = 0;
    Time first_try = Time::max();
    Time first_refusal = Time::max();
  };
  bool IsHalted() const;
  WorkerResult HaltedLocked(std::size_t job) const;
  void Finish(std::size_t job, WorkerResult result, std::unique_lock<std::mutex>& lock);
  void HaltWaiting(std::unique_lock<std::mutex>& lock);

  const Limits& limits_;
  Clock& clock_;
  const std::stop_token stop_;
  const OnResult on_result_;
  const OnAgain on_again_;
  const Time start_;
  Wakeup halt_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> waiting_;
  std::multimap<Time, std::size_t> later_;
  std::vector<Progress> progress_;
  std::vector<WorkerResult> results_;
  std::size_t unfinished_;
  int failures_ = 0;
  const std::stop_callback<std::function<void()>> on_stop_;  // last: it may be called at once
};

}  // namespace podctl::ssh
