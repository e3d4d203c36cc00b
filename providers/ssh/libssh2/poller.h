// The one thread that has all SSH connections of a FanOut: epoll, timers, who may begin, and the
// sessions that are kept between two calls of Run. Several calls are served at once.
//
// Each round costs what has happened, not how many connections there are. Nothing in it blocks:
// names are looked up and slow signatures made by the task pools.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "providers/os/clock.h"
#include "providers/os/descriptor.h"
#include "providers/ssh/libssh2/batch.h"
#include "providers/ssh/libssh2/session_pool.h"
#include "providers/ssh/libssh2/task_pool.h"

namespace podctl::ssh {

// Sockets that this process may have, were its limit on open files raised as far as it goes.
std::size_t MostSockets();

class Poller {
 public:
  using Time = Clock::SteadyTime;

  // `clock` is lent and must outlive it. Begins its thread.
  explicit Poller(Clock& clock);
  ~Poller();  // closes what is kept; no batch may be under way
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Thread safe:
  bool good() const { return epoll_ >= 0 && wakeup_.fd() >= 0; }
  std::uint32_t NextNumber() { return ++last_number_; }
  void Add(std::shared_ptr<Batch> batch);  // closes its outbox when all of it is done
  void Poke(std::uint32_t batch);          // its stop tokens, outbox or feed have news

  // On the poller thread, by its batches:
  std::unique_ptr<Session> TakeKept(const WorkerAccess& worker);
  void Keep(std::unique_ptr<Session> session, _LIBSSH2_CHANNEL* channel);
  std::size_t OpenSockets() const;
  void SignElsewhere(std::uint32_t batch, std::size_t job,
                     std::shared_ptr<SlowSignature> signature);

 private:
  struct Ref {  // a connection, which may be gone by now
    std::uint32_t batch;
    std::uint32_t job;
  };
  struct Timer {
    Time at;
    Ref who;
    bool operator>(const Timer& other) const { return at > other.at; }
  };
  struct Found {
    Ref who;
    Result<Endpoint> endpoint;
  };
  // What other threads have for this one.
  struct Inbox {
    std::vector<std::shared_ptr<Batch>> batches;
    std::vector<std::uint32_t> poked;
    std::vector<Ref> signed_for;
    std::vector<Found> found;
    bool leave = false;
  };

  void Loop();
  bool ReadInbox(Time now);
  void Begin(const std::shared_ptr<Batch>& batch);
  void LookUp(Batch& batch, std::size_t job);
  void Feed(Batch& batch, Time now);
  void OnPoke(Batch& batch, Time now);
  void OnFound(const Found& found, Time now);
  void Admit(Batch& batch, Time now);
  bool FreeSocket(const Batch& batch);
  void SkipTheRest(Batch& batch, Time now);
  void Step(Ref who, Time now);
  void Settle(Batch& batch, std::size_t job);
  void Register(const Batch& batch, std::size_t job);
  void Watch(int fd, std::uint64_t data, short& known, short events) const;
  void RunTimers(Time now);
  void Wait(Time now);
  void EndBatches();
  Batch* Find(std::uint32_t number);

  Clock& clock_;
  const Wakeup wakeup_;
  const int epoll_;
  std::atomic<std::uint32_t> last_number_{0};

  std::mutex mutex_;
  Inbox inbox_;

  // Of the poller thread:
  std::unordered_map<std::uint32_t, std::shared_ptr<Batch>> batches_;
  SessionPool pool_;
  std::vector<Timer> timers_;     // a heap, the next one first
  std::vector<Ref> again_;        // want a step without waiting
  std::size_t socket_limit_ = 1;  // sockets that this process may have
  std::size_t most_kept_ = 0;
  bool more_to_start_ = false;

  TaskPool lookups_{8};
  TaskPool signers_{2};
  std::thread thread_;  // the last member: begins when all others are there
};

}  // namespace podctl::ssh
