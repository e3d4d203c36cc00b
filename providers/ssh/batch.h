// One call of Run, as the poller sees it: its connections, who waits for what, how many of them are
// open, and what they have for the caller.
//
// Made on the caller's thread; from Poller::Add on it belongs to the poller thread, but for the
// outbox, the stop tokens and `fed`.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "providers/ssh/connection.h"
#include "providers/ssh/outbox.h"
#include "providers/ssh/window.h"

namespace podctl::ssh {

// What a batch asks of the poller that carries it, with the number it was given.
class BatchHost {
 public:
  virtual ~BatchHost() = default;
  virtual std::unique_ptr<Session> TakeKept(const WorkerAccess& worker) = 0;
  virtual void Keep(std::unique_ptr<Session> session, _LIBSSH2_CHANNEL* channel) = 0;
  virtual std::size_t OpenSockets() const = 0;
  virtual void SignElsewhere(std::uint32_t batch, std::size_t job,
                             std::shared_ptr<SlowSignature> signature) = 0;
};

class Batch final : public ConnectionSink {
 public:
  using Time = Clock::SteadyTime;
  using State = Connection::State;

  struct Slot {
    std::unique_ptr<Connection> connection;
    State seen = State::kWaiting;     // what the counters know
    Time armed = Connection::kNever;  // the next look of the poller's timer
    bool startable = false;           // in the queue of those that may begin
    bool again = false;               // in the poller's queue of those that want a step
    bool resolving = false;           // its name is being looked up
  };

  // `host` is lent; jobs too, until the last result is out.
  Batch(std::uint32_t number, const std::vector<Job>& jobs, const Limits& limits,
        std::stop_token stop, BatchHost& host, std::function<void()> on_room);

  const std::uint32_t number;
  const Limits limits;
  const std::stop_token stop;
  Outbox outbox;
  std::atomic<bool> fed{false};  // the jobs' feed has more, or has ended
  std::vector<Slot> slots;
  std::deque<std::size_t> startable;  // in order
  std::deque<std::size_t> parked;
  Window window;
  bool keeps_output = false;  // the observer wants all that was received, also after `stop`
  bool cancelled = false;     // what has been done about `stop`
  bool abandoned = false;

  // Notes that a connection's state has changed.
  void Count(Slot& slot);
  std::size_t CountOf(State state) const { return counts_[static_cast<std::size_t>(state)]; }
  std::size_t Open() const {
    return slots.size() - CountOf(State::kWaiting) - CountOf(State::kDone);
  }
  bool Done() const { return CountOf(State::kDone) == slots.size(); }
  // What the counters should be; for checks.
  bool CountsAreRight() const;

  // The failure budget was spent just now, by so many; 0: no, or it was told before.
  int BudgetSpent();
  bool TakeNews() { return std::exchange(news_, false); }  // something was put into the outbox

  void OnData(std::size_t job, Stream stream, std::string_view bytes) override;
  bool Full(std::size_t job) override { return outbox.Full(job); }
  unsigned SendAhead() const override;
  void OnPhase(std::size_t job, Phase phase) override;
  void OnTryAgain(std::size_t job, const Cause& why) override;
  void OnResult(std::size_t job, const WorkerResult& result) override;
  bool MayHandshake() override;
  std::unique_ptr<Session> TakeKept(const WorkerAccess& worker) override;
  void Keep(std::unique_ptr<Session> session, _LIBSSH2_CHANNEL* channel) override;
  void OnReached() override { window.Success(); }
  void OnTrouble(Time now) override { window.Trouble(now); }
  bool OnNoRoom(Time now) override;
  Session::SignElsewhere SignerFor(std::size_t job) override;

 private:
  BatchHost& host_;
  std::array<std::size_t, Connection::kStates> counts_{};
  int failed_ = 0;
  bool budget_told_ = false;
  bool news_ = false;
};

}  // namespace podctl::ssh
