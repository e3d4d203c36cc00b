#include "cmd/commands/worker_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "cmd/commands/pod_target.h"
#include "cmd/commands/refused_key.h"
#include "cmd/views/exec_output.h"
#include "cmd/views/exec_progress.h"
#include "providers/base/exit_code.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"
#include "providers/workers/runs.h"

namespace podctl {
namespace {

// Somebody is watching, so not for minutes.
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kTick{50};
constexpr std::chrono::seconds kLongWait{2};
constexpr std::size_t kMostLines = 2000;
constexpr std::uint64_t kMostBytes = 1024 * 1024;  // of an answer: a thousand jobs have a third

// How far the round has come, as exec shows it. Thread safe.
class RoundProgress {
 public:
  RoundProgress(Wiring& wiring, const std::vector<ssh::Job>& jobs, const std::string& waits_for)
      : clock_(wiring.clock()),
        began_(clock_.Steady()),
        waits_for_(wiring.options().json ? "" : waits_for),
        progress_(jobs.empty() ? "" : jobs.front().worker.pod, NumbersOf(jobs), wiring.clock(),
                  jobs.empty() ? 0 : jobs.front().worker.per_slice),
        console_(wiring.streams(), wiring.options().json ? nullptr : &progress_, wiring.clock()),
        ticker_([this, &clock = wiring.clock()](const std::stop_token& end) {
          while (clock.SleepFor(kTick, end)) Tick();
        }) {}

  void OnPhase(std::size_t job, ssh::Phase phase) {
    const std::lock_guard lock(mutex_);
    progress_.OnPhase(job, phase);
  }
  void OnTryAgain(std::size_t job, const ssh::Cause& why) {
    const std::lock_guard lock(mutex_);
    progress_.OnTryAgain(job, why);
  }
  void OnResult(std::size_t job, const WorkerAnswer& answer) {
    const std::lock_guard lock(mutex_);
    progress_.OnResult(job, answer.result.ok() ? "" : CauseOfSilence(answer));
  }

 private:
  static std::vector<int> NumbersOf(const std::vector<ssh::Job>& jobs) {
    std::vector<int> numbers;
    for (const ssh::Job& job : jobs) numbers.push_back(job.worker.index);
    return numbers;
  }
  void Tick() {
    const std::lock_guard lock(mutex_);
    if (!waits_for_.empty() && clock_.Steady() - began_ > kLongWait) {
      console_.Err(std::exchange(waits_for_, ""));
    }
    console_.Tick();
  }

  Clock& clock_;
  const Clock::SteadyTime began_;
  std::mutex mutex_;  // of what follows
  std::string waits_for_;
  ExecProgress progress_;
  ExecConsole console_;
  const std::jthread ticker_;  // last: it ends first
};

class Listener final : public ssh::Observer {
 public:
  Listener(const std::vector<std::size_t>& order, std::vector<WorkerAnswer>& answers,
           const AskHooks& hooks, RoundProgress& progress)
      : order_(order), answers_(answers), hooks_(hooks), progress_(progress) {}

  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    WorkerAnswer& answer = answers_[order_[job]];
    if (stream == ssh::Stream::kErr) {
      const std::string_view words = TrimBlanks(line).substr(0, 300);
      if (!words.empty() && words != workers::kStagedLine) {
        answer.last_words = VisibleControls(words);
      }
      if (hooks_.on_error_line) hooks_.on_error_line(order_[job], line);
    } else if (answer.lines.size() < kMostLines) {
      answer.lines.emplace_back(line);
    }
  }
  void OnPhase(std::size_t job, ssh::Phase phase) override {
    progress_.OnPhase(order_[job], phase);
  }
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override {
    progress_.OnTryAgain(order_[job], why);
  }
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    WorkerAnswer& answer = answers_[order_[job]];
    answer.result = result;
    progress_.OnResult(order_[job], answer);
    if (hooks_.on_result) hooks_.on_result(order_[job], result);
  }

 private:
  const std::vector<std::size_t>& order_;
  std::vector<WorkerAnswer>& answers_;
  const AskHooks& hooks_;
  RoundProgress& progress_;
};

}  // namespace

std::vector<WorkerAnswer> AskWorkers(Wiring& wiring, const std::string& address,
                                     const std::vector<ssh::Job>& jobs,
                                     std::chrono::milliseconds command_limit,
                                     const AskHooks& hooks) {
  std::vector<WorkerAnswer> answers;
  std::vector<ssh::Job> reachable;
  std::vector<std::size_t> order;
  std::optional<RoundProgress> progress;
  progress.emplace(wiring, jobs, hooks.waits_for);
  for (const ssh::Job& job : jobs) {
    const std::size_t number = answers.size();
    answers.push_back({job.worker, {}, {}, {}});
    if (job.worker.host.empty()) {
      answers.back().result.message = "the node shows no address for it";
      progress->OnPhase(number, ssh::Phase::kDone);
      progress->OnResult(number, answers.back());
      if (hooks.on_result) hooks.on_result(number, answers.back().result);
      continue;
    }
    order.push_back(number);
    reachable.push_back(job);
  }
  ssh::Limits limits;
  limits.retry = kPatience;
  limits.command = command_limit;
  limits.output = kMostBytes;
  limits.abandon = wiring.interrupt().leave();
  // Where they wait for one another, none may wait for another's connection to be free.
  limits.max_open = std::max(limits.max_open, static_cast<int>(reachable.size()));
  Listener listener(order, answers, hooks, *progress);
  auto results = wiring.ssh().Run(reachable, limits, listener, wiring.interrupt().drain());
  progress.reset();  // off the screen
  std::map<int, HostKeyText> learned;
  for (std::size_t i = 0; i < results.size(); ++i) {
    WorkerAnswer& answer = answers[order[i]];
    answer.result = std::move(results[i]);
    if (answer.result.learned_host_key) {
      learned[answer.worker.index] = *answer.result.learned_host_key;
    }
  }
  RememberHostKeys(wiring, address, learned);
  return answers;
}

std::vector<WorkerAnswer> AskWorkers(Wiring& wiring, const std::string& address,
                                     const std::vector<WorkerAccess>& workers,
                                     const std::string& command) {
  std::vector<ssh::Job> jobs;
  for (const WorkerAccess& worker : workers) jobs.push_back({worker, command, nullptr});
  return AskWorkers(wiring, address, jobs);
}

std::string TooFewAtOnce(const std::vector<WorkerAccess>& workers, std::size_t most) {
  const bool programs = workers.front().use_openssh || !workers.front().through.empty();
  return fmt::format(
      "Only {} of {} can be connected to at the same moment, since {}", most,
      Plural(workers.size(), "worker"),
      programs ? "each costs a process" : "this process may not open more files (`ulimit -Hn`)");
}

std::string CauseOfSilence(const WorkerAnswer& answer) {
  const ssh::WorkerResult& result = answer.result;
  if (result.outcome == ssh::Outcome::kExited) {
    const std::string code = ExitCodeText(result.exit_code);
    return answer.last_words.empty() ? code : fmt::format("{}: {}", code, answer.last_words);
  }
  return ssh::CauseOf(result);
}

void WorkerGroups::Add(const std::string& what, int worker) {
  const auto [at, is_new] = index_.emplace(what, groups_.size());
  if (is_new) groups_.push_back({what, {}});
  groups_[at->second].workers.push_back(worker);
}

void ShowSilent(Wiring& wiring, const std::vector<WorkerAnswer>& answers) {
  WorkerGroups causes;
  std::size_t silent = 0;
  for (const WorkerAnswer& answer : answers) {
    if (answer.result.ok()) continue;
    causes.Add(CauseOfSilence(answer), answer.worker.index);
    ++silent;
  }
  if (silent == 0) return;
  wiring.streams().err << fmt::format("{} of {} failed:\n", silent,
                                      Plural(answers.size(), "worker"));
  for (const auto& group : causes.groups()) {
    wiring.streams().err << fmt::format(
        "  {}: {} ({})\n", group.what,
        FormatWorkers(group.workers, answers.front().worker.per_slice),
        Plural(group.workers.size(), "worker"));
  }
  std::vector<ssh::WorkerResult> results;
  for (const WorkerAnswer& answer : answers) results.push_back(answer.result);
  const std::string advice = SilenceAdvice(wiring, answers.front().worker.pod, results);
  if (!advice.empty()) wiring.streams().err << advice << "\n";
}

}  // namespace podctl
