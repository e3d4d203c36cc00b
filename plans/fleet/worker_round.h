// Asks all workers of a pod the same question at once, and keeps their answers: what doctor, drain
// and what is about jobs do. For answers of a page, not for output of any size. Shows nothing.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/ending_text.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"
#include "providers/worker.h"

namespace podctl {

// For ssh::Job::ending of a text that goes on to its own end when nobody waits for it any more.
inline constexpr const char* kEndsByItself = "exit 0";

struct WorkerAnswer {
  WorkerAccess worker;
  ssh::WorkerResult result;
  std::vector<std::string> lines;  // of standard output, the first 2,000
  std::string last_words;          // the last line of standard error that says something

  // It is as good as none, and why.
  void Spoil(std::string why) { result.End(ssh::Outcome::kLost, ssh::OtherCause(std::move(why))); }
};

// What is said of a round while it goes on; each may be empty.
struct RoundWords {
  // To be told once where a worker waits for it, and that takes long.
  std::string waits_for = {};
  std::string doing = {};  // what the workers are at: "copying src"
};

// What of a round wants to be seen by who waits for it. `job` is the index in the jobs given.
class RoundWatcher {
 public:
  virtual ~RoundWatcher() = default;
  virtual void OnBegin(const std::vector<ssh::Job>& jobs, const RoundWords& words) = 0;
  virtual void OnPhase(std::size_t job, ssh::Phase phase) = 0;
  virtual void OnTryAgain(std::size_t job, const ssh::Cause& why) = 0;
  // The worker says that it waits for the end of something.
  virtual void OnWaits(std::size_t job) = 0;
  virtual void OnAnswer(std::size_t job, const WorkerAnswer& answer) = 0;
  virtual void OnEnd() = 0;
  // Some were seen for the first time, by worker: in this round, or in what else was done there.
  virtual void OnHostKeys(const std::map<int, HostKeyText>& learned) = 0;
};

// What wants to hear of the workers before all have answered. All may be empty; `job` is the index
// in the jobs given.
struct AskHooks {
  std::function<void(std::size_t job, std::string_view line)> on_error_line;
  std::function<void(std::size_t job, const ssh::WorkerResult& result)> on_result;
  RoundWords words = {};
};

// The door through which workers are asked, one round at a time.
class WorkerRounds {
 public:
  // The first two are lent. `stop`: what runs is asked to end; `leave`: nobody waits for that.
  WorkerRounds(ssh::Transport& transport, RoundWatcher& watcher, std::stop_token stop,
               std::stop_token leave)
      : transport_(transport),
        watcher_(watcher),
        stop_(std::move(stop)),
        leave_(std::move(leave)) {}

  // One answer for each job, in their order. A job whose worker has no address is not tried.
  std::vector<WorkerAnswer> Ask(const std::vector<ssh::Job>& jobs,
                                std::chrono::milliseconds command_limit = std::chrono::minutes(5),
                                const AskHooks& hooks = {});
  std::vector<WorkerAnswer> Ask(const std::vector<WorkerAccess>& workers,
                                const std::string& command);

  void Remember(const std::map<int, HostKeyText>& learned) { watcher_.OnHostKeys(learned); }
  bool stopped() const { return stop_.stop_requested(); }
  // As ssh::Transport says.
  std::size_t MostAtOnce(const std::vector<WorkerAccess>& workers) const {
    return transport_.MostAtOnce(workers);
  }

 private:
  ssh::Transport& transport_;
  RoundWatcher& watcher_;
  const std::stop_token stop_;
  const std::stop_token leave_;
};

bool AllAnswered(const std::vector<WorkerAnswer>& answers);

// Why no more than `most` of these workers can wait for one another: a sentence without its end.
std::string TooFewAtOnce(const std::vector<WorkerAccess>& workers, std::size_t most);

// Why there is no answer, with the worker's own last words; one cause of many workers reads the
// same.
std::string CauseOfSilence(const WorkerAnswer& answer);

// Workers that share something, in the order in which it was first seen.
class WorkerGroups {
 public:
  void Add(const std::string& what, int worker);
  bool empty() const { return groups_.empty(); }
  struct Group {
    std::string what;
    std::vector<int> workers;
  };
  const std::vector<Group>& groups() const { return groups_; }

 private:
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> index_;
};

// ---- How long it is waited for commands on workers to have ended, once they were asked to: all of
// their grace as long as nobody is in a hurry; some seconds after a Ctrl-C, and not at all after a
// second one. What is still at it by then is ended by the worker itself.

class TerminationLimit {
 public:
  // `clock` is lent. `leave`: nobody waits any more.
  TerminationLimit(const std::stop_token& leave, Clock& clock)
      : clock_(clock), on_leave_(leave, [this] { abandon_.request_stop(); }) {}

  void SetOn(ssh::Limits& limits, std::chrono::seconds grace) const {
    // A worker that is busy needs a moment to say so.
    constexpr std::chrono::seconds kMargin{10};
    limits.grace = grace;
    limits.termination = grace + kKillTime + kMargin;
    limits.abandon = abandon_.get_token();
  }
  // Now and then, on one thread: whether somebody is in a hurry.
  void Tick(bool hurried) {
    // An interrupted podctl leaves by itself a moment later.
    constexpr std::chrono::milliseconds kPatience{4'500};
    if (!hurried) return;
    const auto now = clock_.Steady();
    if (!since_) since_ = now;
    if (now - *since_ >= kPatience) abandon_.request_stop();
  }

 private:
  Clock& clock_;
  std::optional<Clock::SteadyTime> since_;
  std::stop_source abandon_;
  const std::stop_callback<std::function<void()>> on_leave_;  // last: it uses the one before
};

// ---- How somebody ends what is under way on workers.

struct StopTokens {
  std::stop_token drain;  // nothing more is begun, and what runs is asked to end
  std::stop_token leave;  // after that: nobody waits any more
};

}  // namespace podctl
