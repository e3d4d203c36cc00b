#include "providers/ssh/openssh/openssh_transport.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "providers/ssh/openssh/mux_run.h"
#include "providers/ssh/openssh/mux_session.h"
#include "providers/ssh/outbox.h"
#include "providers/ssh/retry_queue.h"

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;

constexpr int kMostAtOnce = 256;
constexpr int kMostLoggingIn = 64;

// With a program that leads there each costs another one.
int MostOf(bool programs) {
  return programs ? kMostPrograms : kMostAtOnce;
}

Limits WithProcessesBounded(Limits limits, const std::vector<Job>& jobs) {
  limits.max_open = std::clamp(limits.max_open, 1, MostOf(AnyThroughProgram(jobs)));
  return limits;
}

// One call of Run.
class OpenSshRun {
 public:
  OpenSshRun(const std::vector<Job>& jobs, const Limits& limits, Masters& masters, Clock& clock,
             Random& random, const std::stop_token& stop)
      : jobs_(jobs),
        limits_(WithProcessesBounded(limits, jobs)),
        masters_(masters),
        clock_(clock),
        start_(clock.Steady()),
        stop_(stop),
        outbox_(jobs.size(), Outbox::Sizes(), [this] { OnCapacity(); }),
        phases_(jobs.size(), Phase::kWaiting),
        logging_in_(std::clamp(limits.max_handshakes, 1, kMostLoggingIn)),
        bells_(std::min(jobs.size(), static_cast<std::size_t>(limits_.max_open))),
        queue_(jobs.size(), limits_, random),
        on_stop_(stop, [this] {
          stop_bell_.Ring();
          halt_bell_.Ring();
          changed_.notify_all();
        }) {
    for (std::size_t i = 0; i < jobs.size(); ++i) queue_.Add(i);
  }

  std::vector<WorkerResult> Run(Observer& observer);

 private:
  std::optional<std::size_t> Next();
  bool IsHalted() const { return stop_.stop_requested() || queue_.IsSpent(); }
  WorkerResult Halted(std::size_t job) const;
  void Try(std::size_t job, const Wakeup& news);
  std::optional<std::string> LogIn(std::size_t job, WorkerResult& result);
  void End(std::size_t job, WorkerResult result);
  void EndLocked(std::size_t job, WorkerResult result);
  void TryAgain(std::size_t job, WorkerResult result, const Verdict& verdict);
  void SetPhase(std::size_t job, Phase phase);
  void RingAll() {
    for (const Wakeup& bell : bells_) bell.Ring();
  }
  void OnCapacity() {
    outbox_.TakeResumable();
    RingAll();
  }

  const std::vector<Job>& jobs_;
  const Limits limits_;
  Masters& masters_;
  Clock& clock_;
  const Clock::SteadyTime start_;
  const std::stop_token stop_;
  Outbox outbox_;
  std::vector<Phase> phases_;  // each touched by the thread whose turn the job is
  std::counting_semaphore<kMostLoggingIn> logging_in_;
  std::vector<Wakeup> bells_;  // of each thread: the feed has more, or the outbox has room
  Wakeup stop_bell_;           // readable, and stays so, once commands are to be ended
  Wakeup halt_bell_;           // and this once nothing may be started any more
  std::mutex mutex_;           // of the queue
  std::condition_variable changed_;
  RetryQueue queue_;
  const std::stop_callback<std::function<void()>> on_stop_;  // last: it may be called at once
};

void OpenSshRun::SetPhase(std::size_t job, Phase phase) {
  if (std::exchange(phases_[job], phase) == phase) return;
  outbox_.PutPhase(job, phase);
  outbox_.Flush();
}

// What a job that has not sent its command ends with.
WorkerResult OpenSshRun::Halted(std::size_t job) const {
  WorkerResult result;
  result.attempts = queue_.attempts(job);
  if (stop_.stop_requested()) {
    result.End(Outcome::kCancelled, CancelledCause(Termination::kBeforeSent));
  } else {
    result.End(Outcome::kSkipped, queue_.SkippedCause());
  }
  return result;
}

// The job to try next; waits until there is one. nullopt: all have ended.
std::optional<std::size_t> OpenSshRun::Next() {
  // A request to stop is no change under our lock, so it could slip in between a look and a wait.
  constexpr milliseconds kLongest{100};
  std::unique_lock lock(mutex_);
  while (!queue_.done()) {
    const auto now = clock_.Steady();
    // Once halted, whose time has not come yet ends as well.
    const auto job = queue_.Next(IsHalted() ? Clock::SteadyTime::max() : now);
    if (job && IsHalted()) {
      EndLocked(*job, Halted(*job));
    } else if (job && queue_.HasCapacity()) {
      queue_.Begin(*job, now);
      return job;
    } else {
      const auto left = std::max(queue_.next_time() - now, Clock::SteadyTime::duration(0));
      changed_.wait_for(lock,
                        job ? kLongest : std::min<Clock::SteadyTime::duration>(kLongest, left));
    }
  }
  return std::nullopt;
}

void OpenSshRun::EndLocked(std::size_t job, WorkerResult result) {
  if (result.waited.count() == 0) {
    result.waited = std::chrono::duration_cast<milliseconds>(clock_.Steady() - start_);
  }
  queue_.End(job, result);
  if (IsHalted()) halt_bell_.Ring();
  outbox_.PutResult(job, std::move(result));
  outbox_.Flush();
  changed_.notify_all();
}

void OpenSshRun::End(std::size_t job, WorkerResult result) {
  const std::lock_guard lock(mutex_);
  EndLocked(job, std::move(result));
}

// It failed before its command was sent.
void OpenSshRun::TryAgain(std::size_t job, WorkerResult result, const Verdict& verdict) {
  const std::lock_guard lock(mutex_);
  if (IsHalted() && verdict.may_pass) return EndLocked(job, Halted(job));
  const bool refused = verdict.outcome == Outcome::kAuthRefused;
  if (verdict.may_pass && !refused) queue_.concurrency.Trouble(clock_.Steady());
  if (verdict.may_pass && queue_.Again(job, refused, clock_.Steady())) {
    outbox_.PutTrouble(job, verdict.cause);
    SetPhase(job, Phase::kRetrying);
    changed_.notify_all();
    return;
  }
  result.End(verdict.outcome, verdict.cause);
  if (verdict.may_pass) result.CountTries();
  EndLocked(job, std::move(result));
}

// The socket of a connection; nullopt when the job's try is over.
std::optional<std::string> OpenSshRun::LogIn(std::size_t job, WorkerResult& result) {
  const WorkerAccess& worker = jobs_[job].worker;
  if (auto kept = masters_.Take(worker)) return kept;
  SetPhase(job, Phase::kConnecting);
  logging_in_.acquire();
  const Masters::Opened opened =
      masters_.Open(worker, limits_, {halt_bell_.fd()}, [&](Stage stage) {
        if (stage != Stage::kConnecting) SetPhase(job, Phase::kAuthenticating);
      });
  logging_in_.release();
  result.learned_host_key = opened.learned_host_key;
  if (opened.interrupted) {
    if (!opened.socket_path.empty()) EndMaster(opened.socket_path);
    const std::lock_guard lock(mutex_);
    EndLocked(job, Halted(job));
    return std::nullopt;
  }
  if (opened.socket_path.empty()) {
    TryAgain(job, std::move(result), opened.verdict);
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  queue_.concurrency.Success();
  return opened.socket_path;
}

void OpenSshRun::Try(std::size_t job, const Wakeup& news) {
  class Forwarder final : public MuxRunObserver {
   public:
    Forwarder(OpenSshRun& run, std::size_t index) : run_(run), index_(index) {}
    void OnSent() override {
      sent_at = run_.clock_.Steady();
      run_.SetPhase(index_, Phase::kRunning);
    }
    void OnData(Stream stream, std::string_view bytes) override {
      run_.outbox_.PutOutput(index_, stream, bytes);
      run_.outbox_.Flush();
    }
    bool Full() override { return run_.outbox_.Full(index_); }
    Clock::SteadyTime sent_at{};

   private:
    OpenSshRun& run_;
    const std::size_t index_;
  } forwarder(*this, job);

  WorkerResult result;
  {
    const std::lock_guard lock(mutex_);
    result.attempts = queue_.attempts(job);
  }
  const auto socket_path = LogIn(job, result);
  if (!socket_path) return;
  MuxEnding ending =
      RunOverMux(*socket_path, jobs_[job], limits_, clock_, stop_bell_.fd(), news, forwarder);
  ending.result.attempts = result.attempts;
  ending.result.learned_host_key = result.learned_host_key;
  if (ending.connection_is_good) {
    masters_.Keep(jobs_[job].worker, *socket_path);
  } else {
    EndMaster(*socket_path);
  }
  if (!ending.sent) {
    const Verdict verdict{ending.result.outcome, ending.result.cause, true};
    TryAgain(job, std::move(ending.result), verdict);
    return;
  }
  ending.result.waited = std::chrono::ceil<milliseconds>(forwarder.sent_at - start_);
  ending.result.ran = std::chrono::duration_cast<milliseconds>(clock_.Steady() - forwarder.sent_at);
  End(job, std::move(ending.result));
}

std::vector<WorkerResult> OpenSshRun::Run(Observer& observer) {
  // Of lines, those that wait on disk are not wanted any more once the run is stopped.
  std::optional<std::stop_callback<std::function<void()>>> drop;
  if (!observer.TakesBytes()) drop.emplace(stop_, [this] { outbox_.DropBacklog(); });
  const Listening listening(jobs_.front().feed, [this] { RingAll(); });
  std::atomic<std::size_t> working = bells_.size();
  std::vector<std::jthread> threads;
  for (const Wakeup& bell : bells_) {
    threads.emplace_back([this, &working, &bell] {
      while (const auto job = Next()) Try(*job, bell);
      if (--working == 0) outbox_.Close();
    });
  }
  return Deliver(outbox_, jobs_.size(), observer);
}

}  // namespace

std::vector<WorkerResult> OpenSshTransport::Run(const std::vector<Job>& jobs, const Limits& limits,
                                                Observer& observer, std::stop_token stop) {
  if (jobs.empty()) return {};
  return OpenSshRun(jobs, limits, masters_, clock_, random_, stop).Run(observer);
}

std::size_t OpenSshTransport::MostAtOnce(const std::vector<WorkerAccess>& workers) const {
  return static_cast<std::size_t>(MostOf(AnyThroughProgram(workers)));
}

}  // namespace podctl::ssh
