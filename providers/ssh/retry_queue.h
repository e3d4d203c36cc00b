// Who is tried when: the one scheduler of both transports. Decides which of a run's jobs may begin,
// when one that failed before its command was sent is tried again and when it is given up, how many
// may be open at a time, and that nothing begins any more when too many have failed or the run is
// stopped. Knows nothing of connections, and never waits.
//
// Not thread safe: libssh2's poller thread has one for each run; the threads of the program ssh
// share one under a lock.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <vector>

#include "providers/os/clock.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

// How many connections a run may have open: as many as were asked for, fewer after trouble that
// looks like too many at once (refused, reset, no descriptors left), and more again with success.
class ConcurrencyLimit {
 public:
  using Time = Clock::SteadyTime;

  explicit ConcurrencyLimit(int most);
  int size() const { return size_; }

  void Success();  // a worker was reached
  // One was refused, reset or dropped. A few are their own workers' trouble; when most are, and
  // they are many, there may be too many of us.
  void Trouble(Time now);
  // This machine has no socket for more than the `open` ones.
  void OutOfResources(int open, Time now) { Cut(std::max(1, open / 2), now); }

 private:
  void Cut(int size, Time now);

  const int most_;
  int size_;
  int troubles_ = 0;
  int successes_ = 0;
  Time next_cut_ = Time::min();
};

// How long one worker is tried, and how long is waited between two tries: doubling from 0.25 s to
// 8 s, with full jitter, so that thousands that failed together do not come back together.
class Retries {
 public:
  using Time = Clock::SteadyTime;

  // `limits` and `random` are lent.
  Retries(const Limits& limits, Random& random) : limits_(&limits), random_(&random) {}
  void Begin(Time now) { first_try_ = std::min(first_try_, now); }
  // It failed before its command was sent, and that may pass: when to try again; nullopt: its time
  // is over (Limits::retry, or auth_retry where its keys were refused).
  std::optional<Time> Again(bool keys_refused, Time now);
  Time Soon(Time now);  // a pause, whatever the limits

 private:
  const Limits* limits_;
  Random* random_;
  std::chrono::milliseconds cap_{250};
  Time first_try_ = Time::max();
  Time first_refusal_ = Time::max();
};

// For a caller that has time: calls `once` until it has nothing to complain of (nullopt), or what
// it complains of will not pass, or its time is over (that), or `stop` (kCancelled). `on_trouble`
// hears why a try failed that is not the last one.
std::optional<Verdict> RetryUntilIn(const Limits& limits, Clock& clock, Random& random,
                                    const std::function<std::optional<Verdict>()>& once,
                                    const std::function<void(const Cause&)>& on_trouble,
                                    const std::stop_token& stop);

class RetryQueue {
 public:
  using Time = Clock::SteadyTime;

  // All jobs wait, and none is in the queue. `limits` and `random` are lent.
  RetryQueue(std::size_t jobs, const Limits& limits, Random& random);

  void Add(std::size_t job);  // it may be tried, after those that were added before
  // Whose turn it is; nullopt: nobody's now. It stays first until Begin, or until it has ended.
  std::optional<std::size_t> Next(Time now);
  // When somebody's turn comes without anything else happening.
  Time next_time() const { return later_.empty() ? Time::max() : later_.begin()->first; }
  bool HasCapacity() const { return open_ < static_cast<std::size_t>(concurrency.size()); }

  void Begin(std::size_t job, Time now);  // it is tried
  // Of one that is being tried: as Retries::Again; false: it is to end.
  bool Again(std::size_t job, bool keys_refused, Time now);
  // There was no socket for it: comes again soon, and that was no try.
  void PutBack(std::size_t job, Time now);
  void End(std::size_t job, const WorkerResult& result);  // whatever it was doing

  int attempts(std::size_t job) const { return slots_[job].attempts; }
  std::size_t open() const { return open_; }
  bool done() const { return unfinished_ == 0; }
  // The failure budget is spent: what was not sent ends with SkippedCause.
  bool IsSpent() const { return limits_.max_failures && failures_ > *limits_.max_failures; }
  Cause SkippedCause() const;

  ConcurrencyLimit concurrency;

 private:
  enum class State { kWaiting, kOpen, kEnded };
  struct Slot {
    Retries retries;
    State state = State::kWaiting;
    int attempts = 0;
  };
  void Later(std::size_t job, Time at);

  const Limits& limits_;
  std::vector<Slot> slots_;
  std::deque<std::size_t> ready_;  // these two with some that have ended
  std::multimap<Time, std::size_t> later_;
  std::size_t open_ = 0;
  std::size_t unfinished_;
  int failures_ = 0;
};

}  // namespace podctl::ssh
