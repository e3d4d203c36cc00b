#include "plans/fleet/run/attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "plans/fleet/run/start_gate.h"
#include "plans/fleet/worker_round.h"
#include "providers/base/error.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using ssh::Outcome;

// For a worker that is READY but does not answer yet; somebody is watching, so not for minutes.
constexpr std::chrono::seconds kAttemptPatience{20};
constexpr std::chrono::milliseconds kAttemptTick{50};
// Until the last worker is ready, a pull of the image or a slow disk included.
constexpr std::chrono::minutes kStaging{10};
// After the first failure, for the others to fail by themselves and say so.
constexpr std::chrono::seconds kAftermath{10};
constexpr std::chrono::seconds kLookPace{10};
// Those that fail together are told together, at the end; who waits for others hears of it now.
constexpr std::chrono::seconds kOneFailure{2};

// Of those that gang.py tells of somebody.
std::optional<RestartReason> ReasonOfGang(std::string_view name) {
  for (const RestartReason reason :
       {RestartReason::kFailure, RestartReason::kKilled, RestartReason::kConnection,
        RestartReason::kPreemption, RestartReason::kMaintenance}) {
    if (name == RestartReasonName(reason)) return reason;
  }
  return std::nullopt;
}

// What the workers do, on its way to who watches: opens the gate, and knows who failed first.
class Supervisor final : public ssh::Observer {
 public:
  Supervisor(const AttemptPlan& plan, AttemptWatcher& watcher, StartGate& gate, Clock& clock,
             std::stop_source& stop)
      : plan_(plan),
        watcher_(watcher),
        gate_(gate),
        clock_(clock),
        stop_(stop),
        began_(clock.Steady()),
        staged_(plan.workers.size(), false),
        over_(plan.workers.size(), false) {
    result_.outcome.results.resize(plan.workers.size());
    if (plan.heartbeat) heartbeat_.emplace(plan.workers.size(), *plan.heartbeat);
  }

  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    if (plan_.hang) {
      const std::lock_guard lock(mutex_);
      line_at_ = clock_.Steady();
    }
    bool open = std::exchange(open_, false);
    if (const std::size_t own = OwnPart(job, stream, line); own < line.size()) {
      watcher_.OnOwnLine(job, line.substr(own));
      if (own == 0) return;
      line = line.substr(0, own);
      open = true;
    }
    if (open) watcher_.Commands().OnOpenLine(job, stream);
    watcher_.Commands().OnLine(job, stream, line);
  }
  void OnOpenLine(std::size_t, ssh::Stream) override { open_ = true; }
  void OnPhase(std::size_t job, ssh::Phase phase) override {
    watcher_.Commands().OnPhase(job, phase);
  }
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override {
    watcher_.Commands().OnTryAgain(job, why);
  }
  void OnResult(std::size_t job, const ssh::WorkerResult& reported) override {
    ssh::WorkerResult result = reported;
    {
      const std::lock_guard lock(mutex_);
      Judge(job, &result);
      result_.outcome.results[job] = result;
      over_[job] = true;
    }
    watcher_.Commands().OnResult(job, result);
  }

  // Now and then, on the ticker's thread.
  void Tick() {
    TellFailure();
    const std::lock_guard lock(mutex_);
    const auto now = clock_.Steady();
    const bool late = !result_.started && !result_.first && now - began_ > kStaging;
    const bool over = first_at_ && now - *first_at_ > Aftermath();
    if (late) gate_.CallOff();
    if (heartbeat_ && result_.started && result_.stalled.empty()) {
      result_.stalled = heartbeat_->WhyStalled(now);
    }
    if (plan_.hang && result_.started && result_.stalled.empty() && !result_.first &&
        now - std::max(line_at_, started_at_) > *plan_.hang) {
      result_.stalled = fmt::format("no worker has written for {}", FormatDuration(*plan_.hang));
      result_.hung = true;
    }
    if (late || over || !result_.stalled.empty()) End();
  }
  void Tell(const JobVerdict& verdict) {
    const std::lock_guard lock(mutex_);
    result_.reported = verdict;
    gate_.CallOff();
    End();
  }
  // Of what is ended before it has: where it was not the supervisor's doing, who wanted that.
  std::string Because(const std::stop_token& drain) const {
    if (drain.stop_requested()) return Ours("interrupted");
    return ends_it_ ? "" : Ours("its output was closed");
  }
  AttemptResult Take(std::vector<ssh::Job> jobs) {
    const std::lock_guard lock(mutex_);
    result_.outcome.jobs = std::move(jobs);
    result_.elapsed =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Steady() - began_);
    return std::move(result_);
  }

 private:
  void End() {
    ends_it_ = true;
    stop_.request_stop();
  }
  std::string Ours(std::string_view how) const {
    return fmt::format("{}: podctl run {}, {}", plan_.run.owner, plan_.run.job, how);
  }
  // Where what is for podctl itself begins in a line; its size: nowhere.
  std::size_t OwnPart(std::size_t job, ssh::Stream stream, std::string_view line) {
    if (stream == ssh::Stream::kErr) {
      if (line == workers::kStagedLine && Stage(job)) return 0;
      const std::size_t own = workers::OwnLineIn(line, plan_.run.id);
      if (own < line.size() && Hear(job, line.substr(own))) return own;
    }
    if (!heartbeat_ || line.find(kStepLine) == std::string_view::npos) return line.size();
    const std::lock_guard lock(mutex_);
    heartbeat_->OnStep(job, clock_.Steady());
    return 0;
  }

  // False for a line that only looks like it.
  bool Stage(std::size_t job) {
    {
      const std::lock_guard lock(mutex_);
      if (staged_[job]) return false;
      staged_[job] = true;
      if (++ready_ < staged_.size()) return true;
      result_.started = true;
      started_at_ = clock_.Steady();
    }
    gate_.Open();
    watcher_.OnStarted(staged_.size());
    return true;
  }

  // While others go on. The summary comes when all have ended, which may take as long as their
  // grace.
  void TellFailure() {
    AttemptFailure failure;
    {
      const std::lock_guard lock(mutex_);
      const bool due = result_.started && result_.first && !is_failure_reported_ &&
                       clock_.Steady() - (started_at_ + result_.first_after) > kOneFailure;
      if (!due) return;
      is_failure_reported_ = true;
      failure.worker = plan_.workers[*result_.first];
      // What it has started may take longer to end than the others.
      failure.cause = over_[*result_.first] ? CauseOfFirst(result_) : result_.told->cause;
      failure.after = result_.first_after;
      if (plan_.gang) failure.aftermath = result_.told ? std::chrono::seconds(0) : kAftermath;
    }
    watcher_.OnFailure(failure);
  }

  // False for what is no line of podctl's own.
  bool Hear(std::size_t job, std::string_view own) {
    const auto who = workers::ReadEndedBy(own, plan_.run.id);
    const auto first = workers::ReadFirst(own, plan_.run.id);
    const std::lock_guard lock(mutex_);
    if (!result_.started) return false;
    if (first) return HearFirst(*first);
    if (workers::IsUnsupervised(own, plan_.run.id)) return HearThatItIsAlone(job);
    if (!who) return false;
    if (stop_.stop_requested()) return true;  // it says what it was told from here
    if (result_.ended_by.empty()) result_.ended_by = *who;
    return true;
  }

  // All of the workers say so; the first to be heard counts.
  bool HearFirst(const workers::GangNews::First& first) {
    const auto reason = ReasonOfGang(first.reason);
    const auto worker =
        std::find_if(plan_.workers.begin(), plan_.workers.end(),
                     [&](const WorkerAccess& each) { return each.index == first.worker; });
    if (!plan_.gang || first.attempt != plan_.gang->first || !reason ||
        worker == plan_.workers.end()) {
      return false;
    }
    const auto index = static_cast<std::size_t>(worker - plan_.workers.begin());
    const bool known = result_.told || result_.first.value_or(index) != index;
    if (known || stop_.stop_requested() || !result_.ended_by.empty()) return true;
    result_.told = ToldFailure{*reason, first.cause};
    if (result_.first) return true;
    result_.first = index;
    result_.first_after = std::min(first.after, SinceStart());
    if (!first_at_) first_at_ = clock_.Steady();
    return true;
  }

  // Nobody on its machine can tell the others.
  bool HearThatItIsAlone(std::size_t job) {
    if (!plan_.gang || result_.first || stop_.stop_requested()) return true;
    result_.told =
        ToldFailure{RestartReason::kKilled, "lost its supervisor, which was killed", true};
    result_.first = job;
    result_.first_after = SinceStart();
    End();
    return true;
  }

  std::chrono::milliseconds SinceStart() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Steady() - started_at_);
  }
  // After which those that are left are ended from here. Whoever has told of the failure ends by
  // himself, and is not to be asked a second time while he does.
  std::chrono::seconds Aftermath() const {
    return result_.told ? kAftermath + plan_.run.grace + kKillTime : kAftermath;
  }

  void Judge(std::size_t job, ssh::WorkerResult* result) {
    if (!result_.started) {
      // It was ready, and was told that nothing comes of it.
      const bool called_off =
          result->outcome == Outcome::kExited && result->exit_code == workers::kNotStarted;
      if (called_off || result->outcome == Outcome::kCancelled) {
        result->outcome = Outcome::kSkipped;
        return;
      }
      if (result->outcome == Outcome::kExited && !staged_[job]) {
        result->message = "it could not be made ready";
      }
      if (!result_.first) result_.first = job;
      gate_.CallOff();
      End();
      return;
    }
    if (result->ok() || result->outcome == Outcome::kCancelled) return;
    if (plan_.gang && !first_at_) first_at_ = clock_.Steady();
    if (IsForAnother(job, *result)) {
      result->End(Outcome::kCancelled, ssh::CancelledCause(ssh::Termination::kEnded));
      result->asked = result->ended = true;
      return;
    }
    if (result_.first) return;
    // Then it did not fail: somebody has ended it.
    if (!result_.ended_by.empty()) return;
    result_.first = job;
    result_.first_after = SinceStart();
  }

  // A command may have ended with that code as well: of who failed first it is the command's.
  bool IsForAnother(std::size_t job, const ssh::WorkerResult& result) const {
    return plan_.gang && result.outcome == Outcome::kExited &&
           result.exit_code == workers::kEndedForAnother && result_.first != job;
  }

  const AttemptPlan& plan_;
  AttemptWatcher& watcher_;
  bool open_ = false;  // the next line has no newline
  StartGate& gate_;
  Clock& clock_;
  std::stop_source& stop_;
  std::atomic<bool> ends_it_ = false;  // for what the attempt itself has seen
  const Clock::SteadyTime began_;
  std::mutex mutex_;  // of what follows
  std::vector<bool> staged_;
  std::vector<bool> over_;  // its result is there
  std::size_t ready_ = 0;
  std::optional<Heartbeat> heartbeat_;
  Clock::SteadyTime started_at_{};
  Clock::SteadyTime line_at_{};  // the last line of any worker
  std::optional<Clock::SteadyTime> first_at_;
  bool is_failure_reported_ = false;
  AttemptResult result_;
};

std::vector<ssh::Job> JobsOf(const AttemptPlan& plan, StartGate* gate) {
  const std::string command = workers::RunCommand(plan.run);
  const std::string ending = workers::EndRunCommand(plan.run);
  std::vector<ssh::Job> jobs;
  for (std::size_t i = 0; i < plan.workers.size(); ++i) {
    std::string input = plan.gang
                            ? workers::RunInput(plan.run, plan.setup, plan.texts[i], *plan.gang, i)
                            : workers::RunInput(plan.setup, plan.texts[i]);
    jobs.push_back({plan.workers[i], command, std::make_shared<const std::string>(std::move(input)),
                    gate, ending});
  }
  return jobs;
}

}  // namespace

AttemptResult RunAttempt(ssh::Transport& transport, Clock& clock, const AttemptPlan& plan,
                         AttemptWatcher& watcher, const StopTokens& stops) {
  StartGate gate(StartGate::After::kStaysOpen);
  std::stop_source stop;
  Supervisor supervisor(plan, watcher, gate, clock, stop);
  std::vector<ssh::Job> jobs = JobsOf(plan, &gate);
  for (ssh::Job& job : jobs) {
    job.ending_now = [&] {
      return workers::EndRunCommand(plan.run, supervisor.Because(stops.drain));
    };
  }
  const std::stop_callback on_drain(stops.drain, [&] {
    gate.CallOff();
    stop.request_stop();
  });
  watcher.Commands().OnBegin(jobs, stop);
  TerminationLimit termination(stops.leave, clock);
  std::optional<Clock::SteadyTime>
      asked_at;  // when the workers were to end, of the ticker's thread
  {
    const std::jthread ticker([&](const std::stop_token& end) {
      while (clock.SleepFor(kAttemptTick, end)) {
        if (!asked_at && stop.stop_requested()) asked_at = clock.Steady();
        watcher.Commands().Tick();
        supervisor.Tick();
        termination.Tick(stops.drain.stop_requested());
      }
    });
    std::jthread looker;
    if (plan.look) {
      looker = std::jthread([&](const std::stop_token& end) {
        while (clock.SleepFor(kLookPace, end)) {
          if (const auto verdict = plan.look(end)) return supervisor.Tell(*verdict);
        }
      });
    }
    ssh::Limits limits;
    limits.retry = kAttemptPatience;
    termination.SetOn(limits, plan.run.grace);
    // All of them wait for the last one, so none may wait for another's connection to be free.
    limits.max_open = std::max(limits.max_open, static_cast<int>(jobs.size()));
    transport.Run(jobs, limits, supervisor, stop.get_token());
  }
  watcher.Commands().OnEnd();
  for (ssh::Job& job : jobs) job.ending_now = {};
  AttemptResult result = supervisor.Take(std::move(jobs));
  result.outcome.interrupted = stops.drain.stop_requested();
  if (stop.stop_requested()) {
    const auto passed = clock.Steady() - asked_at.value_or(clock.Steady());
    result.kill_in = std::max(std::chrono::seconds(0),
                              std::chrono::ceil<std::chrono::seconds>(plan.run.grace - passed));
  }
  return result;
}

std::string SignalOf(const ssh::WorkerResult& result) {
  if (result.outcome == Outcome::kSignaled) {
    return result.signal.empty() ? "a signal" : result.signal;
  }
  if (result.outcome != Outcome::kExited) return {};
  return std::string(SignalOfExitCode(result.exit_code));
}

std::string CauseOfEnd(const ssh::WorkerResult& result) {
  // Who keeps the job there sees it too, and ends what it has started.
  if (result.outcome == Outcome::kLost) {
    return "the connection to it broke, and the worker ends its part by itself";
  }
  return ssh::CauseOf(result);
}

namespace {

bool LinkBroke(const ssh::WorkerResult& result) {
  return result.outcome == Outcome::kLost || result.outcome == Outcome::kUnreachable;
}

}  // namespace

bool ToldFailure::IsOfCommand() const {
  return !unsupervised && (reason == RestartReason::kFailure || reason == RestartReason::kKilled);
}

std::string CauseOfFirst(const AttemptResult& result) {
  const ssh::WorkerResult& first = result.outcome.results[*result.first];
  const bool ended = first.outcome == Outcome::kExited || first.outcome == Outcome::kSignaled;
  const bool as_told = result.told && !LinkBroke(first) && (!ended || !result.told->IsOfCommand());
  return as_told ? result.told->cause : CauseOfEnd(first);
}

bool IsFirstByMachine(const AttemptResult& result) {
  return result.told && !result.told->IsOfCommand();
}

JobEnd EndOf(const AttemptResult& result) {
  JobEnd end;
  end.stalled = result.stalled;
  end.hung = result.hung;
  const auto& results = result.outcome.results;
  const auto name = [&](std::size_t i) { return result.outcome.jobs[i].worker.Name(); };
  // Where the link to a worker broke, that is why others failed, whoever was the first to say so.
  const auto lost = std::find_if(results.begin(), results.end(), LinkBroke);
  if (lost != results.end()) {
    end.lost = true;
    end.what = fmt::format("{}: {}", name(static_cast<std::size_t>(lost - results.begin())),
                           CauseOfEnd(*lost));
  } else if (result.first) {
    end.what = fmt::format("{}: {}", name(*result.first), CauseOfFirst(result));
    end.killed = !SignalOf(results[*result.first]).empty();
    if (result.told) end.told = result.told->reason;
  }
  return end;
}

bool IsConsequence(const ssh::WorkerResult& result) {
  return result.outcome == Outcome::kCancelled || result.outcome == Outcome::kSkipped;
}

bool EndedWell(const AttemptResult& result) {
  const auto& results = result.outcome.results;
  return std::all_of(results.begin(), results.end(), [](const auto& each) { return each.ok(); });
}

}  // namespace podctl
