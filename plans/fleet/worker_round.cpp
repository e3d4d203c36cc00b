#include "plans/fleet/worker_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/error.h"
#include "providers/base/text.h"
#include "providers/workers/runs.h"

namespace podctl {
namespace {

// Somebody is watching, so not for minutes.
constexpr std::chrono::seconds kRoundPatience{20};
constexpr std::size_t kMostLines = 4000;
constexpr std::uint64_t kMostAnswerBytes = 1 << 20;  // of an answer: a thousand jobs have a third

class RoundListener final : public ssh::Observer {
 public:
  RoundListener(const std::vector<std::size_t>& order, std::vector<WorkerAnswer>& answers,
                const AskHooks& hooks, RoundWatcher& watcher)
      : order_(order), answers_(answers), hooks_(hooks), watcher_(watcher) {}

  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    WorkerAnswer& answer = answers_[order_[job]];
    if (stream == ssh::Stream::kErr && line == workers::kEndingLine) {
      watcher_.OnWaits(order_[job]);
    } else if (stream == ssh::Stream::kErr) {
      const std::string_view words = TrimBlanks(line).substr(0, 300);
      if (!words.empty() && words != workers::kStagedLine) {
        answer.last_words = VisibleControls(words);
      }
      if (hooks_.on_error_line) hooks_.on_error_line(order_[job], line);
    } else if (answer.lines.size() < kMostLines) {
      answer.lines.emplace_back(line);
    }
  }
  void OnPhase(std::size_t job, ssh::Phase phase) override { watcher_.OnPhase(order_[job], phase); }
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override {
    watcher_.OnTryAgain(order_[job], why);
  }
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    WorkerAnswer& answer = answers_[order_[job]];
    answer.result = result;
    watcher_.OnAnswer(order_[job], answer);
    if (hooks_.on_result) hooks_.on_result(order_[job], result);
  }

 private:
  const std::vector<std::size_t>& order_;
  std::vector<WorkerAnswer>& answers_;
  const AskHooks& hooks_;
  RoundWatcher& watcher_;
};

}  // namespace

std::vector<WorkerAnswer> WorkerRounds::Ask(const std::vector<ssh::Job>& jobs,
                                            std::chrono::milliseconds command_limit,
                                            const AskHooks& hooks) {
  std::vector<WorkerAnswer> answers;
  std::vector<ssh::Job> reachable;
  std::vector<std::size_t> order;
  watcher_.OnBegin(jobs, hooks.words);
  for (const ssh::Job& job : jobs) {
    const std::size_t number = answers.size();
    answers.push_back({job.worker, {}, {}, {}});
    if (job.worker.host.empty()) {
      answers.back().result.message = "the node shows no address for it";
      watcher_.OnPhase(number, ssh::Phase::kDone);
      watcher_.OnAnswer(number, answers.back());
      if (hooks.on_result) hooks.on_result(number, answers.back().result);
      continue;
    }
    order.push_back(number);
    reachable.push_back(job);
  }
  ssh::Limits limits;
  limits.retry = kRoundPatience;
  limits.command = command_limit;
  limits.output = kMostAnswerBytes;
  limits.abandon = leave_;
  // Where they wait for one another, none may wait for another's connection to be free.
  limits.max_open = std::max(limits.max_open, static_cast<int>(reachable.size()));
  RoundListener listener(order, answers, hooks, watcher_);
  auto results = transport_.Run(reachable, limits, listener, stop_);
  std::map<int, HostKeyText> learned;
  for (std::size_t i = 0; i < results.size(); ++i) {
    WorkerAnswer& answer = answers[order[i]];
    answer.result = std::move(results[i]);
    if (answer.result.learned_host_key) {
      learned[answer.worker.index] = *answer.result.learned_host_key;
    }
  }
  watcher_.OnEnd();
  watcher_.OnHostKeys(learned);
  return answers;
}

std::vector<WorkerAnswer> WorkerRounds::Ask(const std::vector<WorkerAccess>& workers,
                                            const std::string& command) {
  std::vector<ssh::Job> jobs;
  for (const WorkerAccess& worker : workers) jobs.push_back({worker, command, nullptr});
  return Ask(jobs);
}

bool AllAnswered(const std::vector<WorkerAnswer>& answers) {
  return std::all_of(answers.begin(), answers.end(),
                     [](const WorkerAnswer& answer) { return answer.result.ok(); });
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

}  // namespace podctl
