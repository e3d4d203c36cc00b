#include "providers/ssh/openssh_transport.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "providers/ssh/line_splitter.h"
#include "providers/ssh/mux_run.h"
#include "providers/ssh/mux_session.h"
#include "providers/ssh/turns.h"
#include "providers/ssh/way_words.h"

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;

constexpr int kMostAtOnce = 256;
constexpr int kMostLoggingIn = 64;
constexpr std::size_t kMostUnread = std::size_t{4} * 1024 * 1024;  // bytes of output

// What the threads have for the one that called Run. A full one makes them wait, and so the
// workers.
class Outbox {
 public:
  struct Data {
    Stream stream;
    std::string bytes;
  };
  struct Letter {
    std::size_t job;
    std::variant<Data, Cause, Phase, WorkerResult> content;  // a cause: why it is tried again
  };

  void Put(Letter letter) {
    std::unique_lock lock(mutex_);
    if (const Data* data = std::get_if<Data>(&letter.content)) {
      read_.wait(lock, [this] { return bytes_ < kMostUnread; });
      bytes_ += data->bytes.size();
    }
    letters_.push_back(std::move(letter));
    arrived_.notify_one();
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    arrived_.notify_one();
  }
  // Waits for letters; none when there will be none any more.
  std::deque<Letter> Take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return closed_ || !letters_.empty(); });
    bytes_ = 0;
    read_.notify_all();
    return std::exchange(letters_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable read_;
  std::deque<Letter> letters_;
  std::size_t bytes_ = 0;
  bool closed_ = false;
};

// Hands on that a run's feed has more, to each thread that feeds a command from it.
class FeedBells {
 public:
  void Ring() {
    const std::lock_guard lock(mutex_);
    for (const Wakeup* bell : bells_) bell->Ring();
  }
  void Add(const Wakeup* bell) {
    const std::lock_guard lock(mutex_);
    bells_.insert(bell);
  }
  void Remove(const Wakeup* bell) {
    const std::lock_guard lock(mutex_);
    bells_.erase(bell);
  }

 private:
  std::mutex mutex_;
  std::set<const Wakeup*> bells_;
};

// One call of Run.
class OpenSshRun {
 public:
  OpenSshRun(const std::vector<Job>& jobs, const Limits& limits, Masters& masters, Clock& clock,
             Random& random, const std::stop_token& stop)
      : jobs_(jobs),
        limits_(limits),
        masters_(masters),
        clock_(clock),
        phases_(jobs.size(), Phase::kWaiting),
        logging_in_(std::clamp(limits.max_handshakes, 1, kMostLoggingIn)),
        on_stop_(stop, [this] { stop_.Ring(); }),
        turns_(
            jobs.size(), limits, clock, random, stop,
            [this](std::size_t job, const WorkerResult& result) {
              outbox_.Put({job, result});
              SetPhase(job, Phase::kDone);
            },
            [this](std::size_t job, const Cause& why) {
              outbox_.Put({job, why});
              SetPhase(job, Phase::kRetrying);
            }) {}

  std::vector<WorkerResult> Run(Observer& observer);

 private:
  void Try(std::size_t job);
  std::optional<std::string> LogIn(std::size_t job, WorkerResult& result);
  void SetPhase(std::size_t job, Phase phase);
  void Deliver(Observer& observer);

  const std::vector<Job>& jobs_;
  const Limits& limits_;
  Masters& masters_;
  Clock& clock_;
  std::vector<Phase> phases_;  // each touched by the thread whose turn the job is
  std::counting_semaphore<kMostLoggingIn> logging_in_;
  Outbox outbox_;
  FeedBells bells_;
  Wakeup stop_;
  const std::stop_callback<std::function<void()>> on_stop_;
  Turns turns_;
};

void OpenSshRun::SetPhase(std::size_t job, Phase phase) {
  if (std::exchange(phases_[job], phase) != phase) outbox_.Put({job, phase});
}

// The socket of a connection; nullopt when the job has gone back to the turns.
std::optional<std::string> OpenSshRun::LogIn(std::size_t job, WorkerResult& result) {
  const WorkerAccess& worker = jobs_[job].worker;
  result.attempts = turns_.CountAttempt(job);
  if (auto kept = masters_.Take(worker)) return kept;
  SetPhase(job, Phase::kConnecting);
  logging_in_.acquire();
  const Masters::Opened opened =
      masters_.Open(worker, limits_, {turns_.halt_fd()}, [&](Session::Stage stage) {
        if (stage != Session::Stage::kConnecting) SetPhase(job, Phase::kAuthenticating);
      });
  logging_in_.release();
  result.learned_host_key = opened.learned_host_key;
  if (opened.interrupted) {
    if (!opened.socket_path.empty()) EndMaster(opened.socket_path);
    turns_.End(job, turns_.Halted(job));
    return std::nullopt;
  }
  if (!opened.socket_path.empty()) return opened.socket_path;
  result.End(opened.verdict.outcome, opened.verdict.cause);
  if (!opened.verdict.may_pass) {
    turns_.End(job, std::move(result));
    return std::nullopt;
  }
  turns_.EndOrTryAgain(job, std::move(result));
  return std::nullopt;
}

void OpenSshRun::Try(std::size_t job) {
  class Forwarder final : public MuxRunObserver {
   public:
    Forwarder(OpenSshRun& run, std::size_t index) : run_(run), index_(index) {}
    void OnSent() override {
      sent_at = run_.clock_.Steady();
      run_.SetPhase(index_, Phase::kRunning);
    }
    void OnData(Stream stream, std::string_view bytes) override {
      run_.outbox_.Put({index_, Outbox::Data{stream, std::string(bytes)}});
    }
    Clock::SteadyTime sent_at{};

   private:
    OpenSshRun& run_;
    const std::size_t index_;
  } forwarder(*this, job);

  WorkerResult result;
  const auto socket_path = LogIn(job, result);
  if (!socket_path) return;
  const Wakeup fed;
  bells_.Add(&fed);
  MuxEnding ending =
      RunOverMux(*socket_path, jobs_[job], limits_, clock_, stop_.fd(), fed, forwarder);
  bells_.Remove(&fed);
  ending.result.attempts = result.attempts;
  ending.result.learned_host_key = result.learned_host_key;
  if (ending.connection_is_good) {
    masters_.Keep(jobs_[job].worker, *socket_path);
  } else {
    EndMaster(*socket_path);
  }
  if (!ending.sent) {
    turns_.EndOrTryAgain(job, std::move(ending.result));
    return;
  }
  const auto now = clock_.Steady();
  ending.result.waited = std::chrono::ceil<milliseconds>(forwarder.sent_at - turns_.start());
  ending.result.ran = std::chrono::duration_cast<milliseconds>(now - forwarder.sent_at);
  turns_.End(job, std::move(ending.result));
}

void OpenSshRun::Deliver(Observer& observer) {
  std::vector<std::array<LineSplitter, 2>> splitters(jobs_.size());
  const bool bytes = observer.TakesBytes();
  for (auto letters = outbox_.Take(); !letters.empty(); letters = outbox_.Take()) {
    for (const Outbox::Letter& letter : letters) {
      auto& pair = splitters[letter.job];
      const auto* data = std::get_if<Outbox::Data>(&letter.content);
      if (data != nullptr && bytes) {
        observer.OnBytes(letter.job, data->stream, data->bytes);
      } else if (data != nullptr) {
        pair[static_cast<std::size_t>(data->stream)].Add(data->bytes, [&](std::string_view line) {
          observer.OnLine(letter.job, data->stream, line);
        });
      } else if (const auto* trouble = std::get_if<Cause>(&letter.content)) {
        observer.OnTryAgain(letter.job, *trouble);
      } else if (const auto* phase = std::get_if<Phase>(&letter.content)) {
        observer.OnPhase(letter.job, *phase);
      } else if (const auto* result = std::get_if<WorkerResult>(&letter.content)) {
        for (const Stream stream : {Stream::kOut, Stream::kErr}) {
          pair[static_cast<std::size_t>(stream)].Finish(
              [&](std::string_view line) { observer.OnLine(letter.job, stream, line); });
        }
        observer.OnResult(letter.job, *result);
      }
    }
  }
}

// With a program that leads there each costs another one.
int MostOf(bool programs) {
  return programs ? kMostPrograms : kMostAtOnce;
}

std::vector<WorkerResult> OpenSshRun::Run(Observer& observer) {
  const bool programs = std::any_of(jobs_.begin(), jobs_.end(),
                                    [](const Job& job) { return !job.worker.through.empty(); });
  const int most = std::clamp(limits_.max_open, 1, MostOf(programs));
  const std::size_t count = std::min(jobs_.size(), static_cast<std::size_t>(most));
  std::vector<std::thread> threads;
  std::atomic<std::size_t> working = count;
  const auto fed =
      std::find_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.feed != nullptr; });
  if (fed != jobs_.end()) fed->feed->Listen([this] { bells_.Ring(); });
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([this, &working] {
      while (const auto job = turns_.Next()) Try(*job);
      if (--working == 0) outbox_.Close();
    });
  }
  Deliver(observer);
  for (std::thread& thread : threads) thread.join();
  if (fed != jobs_.end()) fed->feed->Listen({});
  return turns_.TakeResults();
}

}  // namespace

std::vector<WorkerResult> OpenSshTransport::Run(const std::vector<Job>& jobs, const Limits& limits,
                                                Observer& observer, std::stop_token stop) {
  if (jobs.empty()) return {};
  return OpenSshRun(jobs, limits, masters_, clock_, random_, stop).Run(observer);
}

std::size_t OpenSshTransport::MostAtOnce(const std::vector<WorkerAccess>& workers) const {
  const bool programs = std::any_of(workers.begin(), workers.end(),
                                    [](const auto& worker) { return !worker.through.empty(); });
  return static_cast<std::size_t>(MostOf(programs));
}

}  // namespace podctl::ssh
