#include "providers/ssh/libssh2/poller.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;

// Files and sockets this process may need besides the workers' (state, API, terminal).
constexpr rlim_t kSpareFiles = 64;
// Connections begun in one round, so that those that are open have their turn.
constexpr int kStartsARound = 64;
// Nobody's clock but the real one wakes epoll, so look up at least this often while jobs run.
constexpr milliseconds kLongestWait{250};

// What epoll gives back: a connection as its batch (numbered from 1) and job, else one of these.
constexpr std::uint32_t kBell = 0;
constexpr std::uint32_t kKept = 0xffffffff;  // followed by the socket

// The socket changes hands: epoll must be told anew, also where the events stay the same.
void ForgetOwner(Session& session) {
  if (session.polled_events != 0) session.polled_events |= POLLPRI;  // nobody waits for that
}

std::uint64_t Pack(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

// Raises the soft limit on open files as far as needed and allowed; returns how many sockets fit.
std::size_t SocketLimit(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t needed = static_cast<rlim_t>(wanted) + kSpareFiles;
  if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = std::min(needed, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= needed) return wanted;
  return limit.rlim_cur > kSpareFiles ? static_cast<std::size_t>(limit.rlim_cur - kSpareFiles) : 1;
}

}  // namespace

std::size_t MostSockets() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int>::max();
  return limit.rlim_max > kSpareFiles ? static_cast<std::size_t>(limit.rlim_max - kSpareFiles) : 1;
}

Poller::Poller(Clock& clock) : clock_(clock), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!good()) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = Pack(kBell, 0);
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_.fd(), &event);
  thread_ = std::thread([this] { Loop(); });
}

Poller::~Poller() {
  {
    const std::lock_guard lock(mutex_);
    inbox_.leave = true;
  }
  wakeup_.Ring();
  if (thread_.joinable()) thread_.join();
  if (epoll_ >= 0) close(epoll_);
}

void Poller::Add(std::shared_ptr<Batch> batch) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.batches.push_back(std::move(batch));
  }
  wakeup_.Ring();
}

void Poller::Poke(std::uint32_t batch) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.poked.push_back(batch);
  }
  wakeup_.Ring();
}

void Poller::SignElsewhere(std::uint32_t batch, std::size_t job,
                           std::shared_ptr<SlowSignature> signature) {
  const Ref who{batch, static_cast<std::uint32_t>(job)};
  signers_.Post([this, who, signature = std::move(signature)] {
    signature->Make();
    {
      const std::lock_guard lock(mutex_);
      inbox_.signed_for.push_back(who);
    }
    wakeup_.Ring();
  });
}

void Poller::LookUp(Batch& batch, std::size_t job) {
  const Ref who{batch.number, static_cast<std::uint32_t>(job)};
  const WorkerAccess& worker = batch.slots[job].connection->worker();
  lookups_.Post([this, who, host = worker.host, port = worker.port] {
    Result<Endpoint> endpoint = Resolve(host, port);
    {
      const std::lock_guard lock(mutex_);
      inbox_.found.push_back({who, std::move(endpoint)});
    }
    wakeup_.Ring();
  });
}

Batch* Poller::Find(std::uint32_t number) {
  const auto it = batches_.find(number);
  return it == batches_.end() ? nullptr : it->second.get();
}

std::size_t Poller::OpenSockets() const {
  std::size_t open = pool_.size();
  for (const auto& [number, batch] : batches_) open += batch->queue.open();
  return open;
}

std::unique_ptr<Session> Poller::TakeKept(const WorkerAccess& worker) {
  std::unique_ptr<Session> session = pool_.Take(worker);
  if (session != nullptr) ForgetOwner(*session);
  return session;
}

void Poller::Keep(std::unique_ptr<Session> session, _LIBSSH2_CHANNEL* channel) {
  if (pool_.size() >= most_kept_) pool_.DropOldest();
  Session* lent = session.get();
  const int fd = pool_.Put(std::move(session), channel, clock_.Steady());
  if (fd < 0) return;
  ForgetOwner(*lent);
  Watch(fd, Pack(kKept, static_cast<std::uint32_t>(fd)), lent->polled_events, pool_.Events(fd));
}

// Tells epoll what is waited for. Not to be registered at all is the only way not to hear of a
// hang-up again and again.
void Poller::Watch(int fd, std::uint64_t data, short& known, short events) const {
  if (events == known) return;
  epoll_event event{};
  event.events = ((events & POLLIN) != 0 ? std::uint32_t{EPOLLIN} : 0U) |
                 ((events & POLLOUT) != 0 ? std::uint32_t{EPOLLOUT} : 0U);
  event.data.u64 = data;
  const int action = events == 0 ? EPOLL_CTL_DEL : known == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(epoll_, action, fd, &event) == 0) known = events;
}

void Poller::Register(const Batch& batch, std::size_t job) {
  const Connection& connection = *batch.slots[job].connection;
  Session* session = connection.session();
  if (session == nullptr || session->fd() < 0) return;  // a closed socket left epoll by itself
  Watch(session->fd(), Pack(batch.number, static_cast<std::uint32_t>(job)), session->polled_events,
        connection.events());
}

// Takes note of what a step has changed. Every step ends here.
void Poller::Settle(Batch& batch, std::size_t job) {
  Batch::Slot& slot = batch.slots[job];
  const Connection& connection = *slot.connection;
  if (connection.state() == Connection::State::kParked && slot.seen != Connection::State::kParked) {
    batch.parked.push_back(job);
  }
  batch.Count(slot);
  Register(batch, job);
  const Ref who{batch.number, static_cast<std::uint32_t>(job)};
  // A timer that turns out to be early is set anew when it comes, so there is one a connection.
  if (connection.timer() < slot.armed) {
    slot.armed = connection.timer();
    timers_.push_back({slot.armed, who});
    std::push_heap(timers_.begin(), timers_.end(), std::greater<>());
  }
  if (connection.wants_step() && !slot.again) {
    slot.again = true;
    again_.push_back(who);
  }
}

void Poller::Step(Ref who, Time now) {
  Batch* batch = Find(who.batch);
  if (batch == nullptr) return;
  batch->slots[who.job].connection->Step(now);
  Settle(*batch, who.job);
}

void Poller::RunTimers(Time now) {
  while (!timers_.empty() && timers_.front().at <= now) {
    std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
    const Timer timer = timers_.back();
    timers_.pop_back();
    Batch* batch = Find(timer.who.batch);
    if (batch == nullptr) continue;
    Batch::Slot& slot = batch->slots[timer.who.job];
    if (slot.armed != timer.at) continue;  // an earlier one was set since
    slot.armed = Connection::kNever;
    if (slot.connection->timer() <= now) slot.connection->Step(now);
    Settle(*batch, timer.who.job);
  }
}

void Poller::Begin(const std::shared_ptr<Batch>& batch) {
  batches_.emplace(batch->number, batch);
  most_kept_ = std::max(most_kept_, static_cast<std::size_t>(std::max(1, batch->limits.max_open)));
  std::size_t wanted = pool_.size();
  for (const auto& [number, each] : batches_) {
    wanted += static_cast<std::size_t>(each->queue.concurrency.size());
  }
  socket_limit_ = SocketLimit(wanted);
  // Who has a connection already goes first: else those that begin would push it out.
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < batch->slots.size(); ++i) {
    const Connection& connection = *batch->slots[i].connection;
    if (connection.state() != Connection::State::kWaiting) {
      Settle(*batch, i);
    } else if (!connection.HasEndpoint()) {
      LookUp(*batch, i);
    } else if (pool_.Has(connection.worker())) {
      batch->queue.Add(i);
    } else {
      others.push_back(i);
    }
  }
  for (const std::size_t i : others) batch->queue.Add(i);
}

// Closes what is kept for later where a connection is wanted now.
bool Poller::FreeSocket(const Batch& batch) {
  if (!batch.queue.HasCapacity()) return false;
  const auto most = static_cast<std::size_t>(std::max(1, batch.limits.max_open));
  while (pool_.size() > 0 &&
         (batch.queue.open() + pool_.size() >= most || OpenSockets() >= socket_limit_)) {
    pool_.DropOldest();
  }
  return OpenSockets() < socket_limit_;
}

void Poller::Admit(Batch& batch, Time now) {
  while (!batch.parked.empty() && batch.MayHandshake()) {
    const std::size_t job = batch.parked.front();
    batch.parked.pop_front();
    if (batch.slots[job].connection->state() != Connection::State::kParked) continue;
    batch.slots[job].connection->Unpark(now);
    Settle(batch, job);
  }
  std::optional<std::size_t> next;
  for (int i = 0; (next = batch.queue.Next(now)) && i < kStartsARound; ++i) {
    Connection& connection = *batch.slots[*next].connection;
    if (!pool_.Has(connection.worker()) && !FreeSocket(batch)) return;
    batch.queue.Begin(*next, now);
    connection.Begin(now);
    Settle(batch, *next);
  }
  more_to_start_ = more_to_start_ || next;
}

// The failure budget is spent: what was not sent is not sent any more.
void Poller::SkipTheRest(Batch& batch, Time now) {
  const Cause why = batch.queue.SkippedCause();
  for (std::size_t i = 0; i < batch.slots.size(); ++i) {
    batch.slots[i].connection->Refuse(Outcome::kSkipped, why, now);
    Settle(batch, i);
  }
}

void Poller::Feed(Batch& batch, Time now) {
  for (std::size_t i = 0; i < batch.slots.size(); ++i) {
    if (!batch.slots[i].connection->hungry()) continue;
    batch.slots[i].connection->Step(now);
    Settle(batch, i);
  }
}

void Poller::OnPoke(Batch& batch, Time now) {
  for (const std::size_t job : batch.outbox.TakeResumable()) {
    if (!batch.slots[job].connection->paused()) continue;
    batch.slots[job].connection->Step(now);
    Settle(batch, job);
  }
  if (batch.fed.exchange(false)) Feed(batch, now);
  const bool cancel = batch.stop.stop_requested() && !batch.cancelled;
  const bool abandon = batch.limits.abandon.stop_requested() && !batch.abandoned;
  if (!cancel && !abandon) return;
  batch.cancelled = true;
  batch.abandoned = batch.abandoned || abandon;
  if (!batch.keeps_output) batch.outbox.DropBacklog();
  for (std::size_t i = 0; i < batch.slots.size(); ++i) {
    Connection& connection = *batch.slots[i].connection;
    if (abandon) {
      connection.Abandon(now);
    } else {
      connection.Cancel(now);
    }
    Settle(batch, i);
  }
}

void Poller::OnFound(const Found& found, Time now) {
  Batch* batch = Find(found.who.batch);
  if (batch == nullptr) return;
  Connection& connection = *batch->slots[found.who.job].connection;
  if (found.endpoint) {
    connection.SetEndpoint(*found.endpoint);
    batch->queue.Add(found.who.job);
  } else {
    connection.Refuse(Outcome::kUnreachable, OtherCause(found.endpoint.error().message), now);
    Settle(*batch, found.who.job);
  }
}

// False: it is time to leave.
bool Poller::ReadInbox(Time now) {
  Inbox inbox;
  {
    const std::lock_guard lock(mutex_);
    std::swap(inbox, inbox_);
  }
  for (const auto& batch : inbox.batches) {
    Begin(batch);
    OnPoke(*batch, now);  // it may have been stopped already
  }
  for (const Found& found : inbox.found) OnFound(found, now);
  for (const Ref who : inbox.signed_for) Step(who, now);
  for (const std::uint32_t number : inbox.poked) {
    if (Batch* batch = Find(number)) OnPoke(*batch, now);
  }
  return !inbox.leave;
}

void Poller::Wait(Time now) {
  const Time timer = timers_.empty() ? Connection::kNever : timers_.front().at;
  Time next = std::min(timer, pool_.next_expiry());
  for (const auto& [number, batch] : batches_) next = std::min(next, batch->queue.next_time());
  int patience = -1;
  if (more_to_start_ || !again_.empty() || next <= now) {
    patience = 0;
  } else if (!batches_.empty() || next != Connection::kNever) {
    milliseconds wait = kLongestWait;
    if (batches_.empty()) wait = milliseconds(60'000);
    if (next != Connection::kNever) {
      wait = std::min(wait, std::chrono::ceil<milliseconds>(next - now));
    }
    patience = static_cast<int>(wait.count());
  }
  std::array<epoll_event, 256> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), patience);
  now = clock_.Steady();
  for (int i = 0; i < count; ++i) {
    const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
    const auto high = static_cast<std::uint32_t>(data >> 32);
    const auto low = static_cast<std::uint32_t>(data);
    if (high == kBell) {
      wakeup_.Silence();
    } else if (high == kKept) {
      pool_.OnEvent(static_cast<int>(low));
    } else {
      Step({high, low}, now);
    }
  }
}

void Poller::EndBatches() {
  for (auto it = batches_.begin(); it != batches_.end();) {
    Batch& batch = *it->second;
    if (batch.TakeNews()) batch.outbox.Flush();
    if (!batch.queue.done()) {
      ++it;
      continue;
    }
    // The jobs are the caller's again when the outbox is closed.
    batch.slots.clear();
    batch.outbox.Close();
    it = batches_.erase(it);
  }
  if (batches_.empty()) timers_.clear();
}

void Poller::Loop() {
  while (true) {
    const Time now = clock_.Steady();
    if (!ReadInbox(now)) break;
    more_to_start_ = false;
    for (const auto& [number, batch] : batches_) {
      if (batch->BudgetSpent()) SkipTheRest(*batch, now);
      Admit(*batch, now);
    }
    EndBatches();
    Wait(now);
    const Time after = clock_.Steady();
    RunTimers(after);
    pool_.Expire(after);
    for (const Ref who : std::exchange(again_, {})) {
      if (Batch* batch = Find(who.batch)) batch->slots[who.job].again = false;
      Step(who, after);
    }
  }
  while (pool_.size() > 0) pool_.DropOldest();  // here, where they have lived
}

}  // namespace podctl::ssh
