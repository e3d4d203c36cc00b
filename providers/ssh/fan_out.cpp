#include "providers/ssh/fan_out.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>

#include "providers/base/text.h"
#include "providers/ssh/connection.h"
#include "providers/ssh/line_splitter.h"
#include "providers/ssh/mailbox.h"

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;
using Time = Connection::Time;

// Files and sockets this process may need besides the workers' (state, API, terminal).
constexpr rlim_t kSpareFiles = 64;

// Raises the soft limit on open files as far as needed and allowed; returns how many sockets fit.
int RoomForSockets(int wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t needed = static_cast<rlim_t>(wanted) + kSpareFiles;
  if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = std::min(needed, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= needed) return wanted;
  return limit.rlim_cur > kSpareFiles ? static_cast<int>(limit.rlim_cur - kSpareFiles) : 1;
}

class Poller final : public ConnectionSink {
 public:
  Poller(const Limits& limits, Clock& clock, const Wakeup& wakeup, Mailbox& mailbox)
      : limits_(limits), clock_(clock), wakeup_(wakeup), mailbox_(mailbox) {}
  ~Poller() override {
    if (epoll_ >= 0) close(epoll_);
  }

  Connection& Add(const Job& job, const Endpoint& endpoint,
                  std::shared_ptr<const Identities> identities, Random& random) {
    slots_.push_back({std::make_unique<Connection>(slots_.size(), job, limits_, endpoint,
                                                   std::move(identities), start_, random, *this),
                      0, 0});
    return *slots_.back().connection;
  }

  void Run(const std::stop_token& stop);
  std::vector<WorkerResult> TakeResults();

  void OnData(std::size_t job, Stream stream, std::string_view bytes) override {
    mailbox_.Put({job, Output{stream, std::string(bytes)}});
  }
  void OnPhase(std::size_t job, Phase phase) override { mailbox_.Put({job, phase}); }
  void OnResult(std::size_t job, const WorkerResult& result) override {
    if (!result.ok() && result.outcome != Outcome::kCancelled &&
        result.outcome != Outcome::kSkipped) {
      ++failed_;
    }
    mailbox_.Put({job, result});
  }
  bool Full() const override { return mailbox_.Full(); }

 private:
  struct Slot {
    std::unique_ptr<Connection> connection;
    int attempt;   // the attempt whose socket is registered
    short events;  // what it is registered for; 0: not registered
  };

  void Count();
  void Admit(Time now);
  void SkipTheRest(Time now);
  void StepAll(Time now);
  void Register(std::size_t index);
  milliseconds Patience(Time now) const;
  void Wait(milliseconds patience);

  const Limits& limits_;
  Clock& clock_;
  const Wakeup& wakeup_;
  Mailbox& mailbox_;
  const Time start_ = clock_.Steady();
  std::vector<Slot> slots_;
  std::vector<std::size_t> ready_;  // sockets with events since the last step
  int epoll_ = -1;
  int max_open_ = 1;
  // Kept by Count.
  int open_ = 0;
  int handshaking_ = 0;
  std::size_t done_ = 0;
  int failed_ = 0;  // kept by OnResult
  bool skipped_ = false;
  bool paused_ = false;
  bool eager_ = false;  // somebody can go on without waiting
  Time next_timer_ = Connection::kNever;
  Time next_start_ = Connection::kNever;
};

// One pass over all connections. It costs microseconds for thousands, and it is what keeps the
// counters from drifting away from the truth.
void Poller::Count() {
  open_ = handshaking_ = 0;
  done_ = 0;
  paused_ = eager_ = false;
  next_timer_ = next_start_ = Connection::kNever;
  for (const Slot& slot : slots_) {
    const Connection& connection = *slot.connection;
    switch (connection.state()) {
      case Connection::State::kWaiting:
        next_start_ = std::min(next_start_, connection.start_at());
        continue;
      case Connection::State::kDone:
        ++done_;
        continue;
      case Connection::State::kOpening:
        ++handshaking_;
        ++open_;
        break;
      case Connection::State::kRunning:
        ++open_;
        break;
    }
    next_timer_ = std::min(next_timer_, connection.timer());
    paused_ = paused_ || connection.paused();
    eager_ = eager_ || connection.wants_step();
  }
}

// The failure budget is spent: what was not sent is not sent any more.
void Poller::SkipTheRest(Time now) {
  skipped_ = true;
  const std::string why = fmt::format("not started: {} failed before",
                                      Plural(static_cast<std::size_t>(failed_), "worker"));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].connection->Refuse(Outcome::kSkipped, why, now);
    Register(i);
  }
}

void Poller::Admit(Time now) {
  if (next_start_ > now) return;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (open_ >= max_open_ || handshaking_ >= std::max(1, limits_.max_handshakes)) return;
    Connection& connection = *slots_[i].connection;
    if (connection.state() != Connection::State::kWaiting || connection.start_at() > now) continue;
    connection.Begin(now);
    Register(i);
    if (connection.state() == Connection::State::kOpening) {
      ++open_;
      ++handshaking_;
    }
  }
}

// Tells epoll what connection `index` waits for. A new attempt has a new socket; the old one left
// epoll when it was closed.
void Poller::Register(std::size_t index) {
  Slot& slot = slots_[index];
  const int fd = slot.connection->fd();
  if (slot.attempt != slot.connection->attempt() || fd < 0) slot.events = 0;
  slot.attempt = slot.connection->attempt();
  if (fd < 0) return;
  const short events = slot.connection->events();
  if (events == slot.events) return;
  epoll_event event{};
  event.events = ((events & POLLIN) != 0 ? std::uint32_t{EPOLLIN} : 0U) |
                 ((events & POLLOUT) != 0 ? std::uint32_t{EPOLLOUT} : 0U);
  event.data.u64 = index;
  // Not to be registered at all is the only way not to hear of a hang-up again and again.
  const int action = events == 0 ? EPOLL_CTL_DEL : slot.events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(epoll_, action, fd, &event) == 0) slot.events = events;
}

milliseconds Poller::Patience(Time now) const {
  // Nobody's clock but the real one wakes epoll, so look up at least this often.
  constexpr milliseconds kLongest{250};
  if (eager_) return milliseconds(0);
  Time next = next_timer_;
  if (open_ < max_open_ && handshaking_ < std::max(1, limits_.max_handshakes)) {
    next = std::min(next, next_start_);
  }
  if (next <= now) return milliseconds(0);
  if (next == Connection::kNever) return kLongest;
  return std::min(kLongest, std::chrono::ceil<milliseconds>(next - now));
}

void Poller::Wait(milliseconds patience) {
  std::array<epoll_event, 256> events;
  ready_.clear();
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                               static_cast<int>(patience.count()));
  for (int i = 0; i < count; ++i) {
    const std::uint64_t index = events[static_cast<std::size_t>(i)].data.u64;
    if (index < slots_.size()) {
      ready_.push_back(index);
    } else {
      wakeup_.Silence();
    }
  }
}

void Poller::StepAll(Time now) {
  for (const std::size_t index : ready_) {
    slots_[index].connection->Step(now);
    Register(index);
  }
  const bool room = paused_ && !mailbox_.Full();
  if (!room && !eager_ && next_timer_ > now) return;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Connection& connection = *slots_[i].connection;
    if (connection.timer() <= now || connection.wants_step() || (room && connection.paused())) {
      connection.Step(now);
      Register(i);
    }
  }
}

void Poller::Run(const std::stop_token& stop) {
  max_open_ = RoomForSockets(std::clamp<int>(limits_.max_open, 1, static_cast<int>(slots_.size())));
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = slots_.size();
  if (epoll_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_.fd(), &event) != 0) {
    for (Slot& slot : slots_) {
      slot.connection->Refuse(Outcome::kUnreachable,
                              fmt::format("epoll is not to be had: {}", std::strerror(errno)),
                              start_);
    }
  }
  bool cancelled = false;
  for (Count(); done_ < slots_.size(); Count()) {
    Time now = clock_.Steady();
    if (stop.stop_requested() && !cancelled) {
      cancelled = true;
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        slots_[i].connection->Cancel(now);
        Register(i);
      }
      continue;
    }
    if (!skipped_ && limits_.max_failures.has_value() && failed_ > *limits_.max_failures) {
      SkipTheRest(now);
      continue;
    }
    Admit(now);
    Wait(Patience(now));
    now = clock_.Steady();
    StepAll(now);
  }
  mailbox_.Close();
}

std::vector<WorkerResult> Poller::TakeResults() {
  std::vector<WorkerResult> results;
  results.reserve(slots_.size());
  for (Slot& slot : slots_) results.push_back(slot.connection->TakeResult());
  return results;
}

// Hands the poller's letters to the observer, cut into lines.
void Deliver(Mailbox& mailbox, std::size_t jobs, Observer& observer) {
  std::vector<std::array<LineSplitter, 2>> splitters(jobs);
  std::vector<Letter> letters;
  while (mailbox.Take(letters)) {
    for (const Letter& letter : letters) {
      auto& pair = splitters[letter.job];
      if (const Output* output = std::get_if<Output>(&letter.content)) {
        pair[static_cast<std::size_t>(output->stream)].Add(
            output->bytes,
            [&](std::string_view line) { observer.OnLine(letter.job, output->stream, line); });
      } else if (const Phase* phase = std::get_if<Phase>(&letter.content)) {
        observer.OnPhase(letter.job, *phase);
      } else if (const WorkerResult* result = std::get_if<WorkerResult>(&letter.content)) {
        for (const Stream stream : {Stream::kOut, Stream::kErr}) {
          pair[static_cast<std::size_t>(stream)].Finish(
              [&](std::string_view line) { observer.OnLine(letter.job, stream, line); });
        }
        observer.OnResult(letter.job, *result);
      }
    }
  }
}

}  // namespace

std::vector<WorkerResult> FanOut::Run(const std::vector<Job>& jobs, const Limits& limits,
                                      Observer& observer, std::stop_token stop) {
  if (jobs.empty()) return {};
  const Wakeup wakeup;
  Mailbox mailbox(wakeup);
  Poller poller(limits, clock_, wakeup, mailbox);
  for (const Job& job : jobs) {
    const Result<std::shared_ptr<const Identities>> identities =
        keyring_.For(job.worker.identity_file);
    const Result<Endpoint> endpoint = Resolve(job.worker.host, job.worker.port);
    Connection& connection = poller.Add(job, endpoint ? *endpoint : Endpoint{},
                                        identities ? *identities : nullptr, random_);
    if (!identities) {
      const Error& error = identities.error();
      connection.Refuse(Outcome::kAuthRefused,
                        error.hint.empty() ? error.message : error.message + "; " + error.hint,
                        clock_.Steady());
    } else if (!endpoint) {
      connection.Refuse(Outcome::kUnreachable, endpoint.error().message, clock_.Steady());
    }
  }
  {
    const std::stop_callback ring(stop, [&wakeup] { wakeup.Ring(); });
    std::thread thread([&] { poller.Run(stop); });
    Deliver(mailbox, jobs.size(), observer);
    thread.join();
  }
  return poller.TakeResults();
}

}  // namespace podctl::ssh
