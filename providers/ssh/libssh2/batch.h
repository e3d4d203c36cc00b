// One call of Run, as the poller sees it: its connections, who waits for what, how many of them are
// open, and what they have for the caller.
//
// Made on the caller's thread; from Poller::Add on it belongs to the poller thread, but for the
// outbox, the stop tokens and `fed`.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "providers/ssh/libssh2/connection.h"
#include "providers/ssh/outbox.h"
#include "providers/ssh/retry_queue.h"

namespace podctl::ssh {

class Poller;

class Batch final : public ConnectionSink {
 public:
  using Time = Clock::SteadyTime;
  using State = Connection::State;

  struct Slot {
    std::unique_ptr<Connection> connection;
    State seen = State::kWaiting;     // what the counters know
    Time armed = Connection::kNever;  // the next look of the poller's timer
    bool again = false;               // in the poller's queue of those that want a step
  };

  // `poller`, which will carry it, is lent; jobs too, until the last result is out.
  Batch(std::uint32_t number, const std::vector<Job>& jobs, const Limits& limits,
        std::stop_token stop, Poller& poller, Random& random, std::function<void()> on_capacity);

  const std::uint32_t number;
  const Limits limits;
  const std::stop_token stop;
  Outbox outbox;
  std::atomic<bool> fed{false};  // the jobs' feed has more, or has ended
  std::vector<Slot> slots;
  RetryQueue queue;
  std::deque<std::size_t> parked;  // in order
  bool keeps_output = false;       // the observer wants all that was received, also after `stop`
  bool cancelled = false;          // what has been done about `stop`
  bool abandoned = false;

  void Count(Slot& slot);  // notes that a connection's state has changed
  // The failure budget was spent just now.
  bool BudgetSpent() { return queue.IsSpent() && !std::exchange(skipped_, true); }
  bool TakeNews() { return std::exchange(news_, false); }  // something was put into the outbox

  void OnData(std::size_t job, Stream stream, std::string_view bytes) override;
  bool Full(std::size_t job) override { return outbox.Full(job); }
  unsigned SendAhead() const override;
  void OnPhase(std::size_t job, Phase phase) override;
  bool TryAgain(std::size_t job, const Verdict& verdict, Time now) override;
  void OnResult(std::size_t job, const WorkerResult& result) override;
  bool MayHandshake() override;
  std::unique_ptr<Session> TakeKept(const WorkerAccess& worker) override;
  void Keep(std::unique_ptr<Session> session, _LIBSSH2_CHANNEL* channel) override;
  void OnReached() override { queue.concurrency.Success(); }
  void OnTrouble(Time now) override { queue.concurrency.Trouble(now); }
  bool OnOutOfResources(std::size_t job, Time now) override;
  Session::SignElsewhere SignerFor(std::size_t job) override;

 private:
  Poller& poller_;
  std::size_t exchanging_keys_ = 0;
  bool skipped_ = false;
  bool news_ = false;
};

}  // namespace podctl::ssh
