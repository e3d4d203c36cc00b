#include "cmd/commands/worker_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cmd/commands/pod_target.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"
#include "providers/workers/runs.h"

namespace podctl {
namespace {

// Somebody is watching, so not for minutes.
constexpr std::chrono::seconds kPatience{20};
constexpr std::size_t kMostLines = 2000;

class Listener final : public ssh::Observer {
 public:
  Listener(const std::vector<std::size_t>& order, std::vector<WorkerAnswer>& answers,
           const AskHooks& hooks)
      : order_(order), answers_(answers), hooks_(hooks) {}

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
  void OnPhase(std::size_t, ssh::Phase) override {}
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    if (hooks_.on_result) hooks_.on_result(order_[job], result);
  }

 private:
  const std::vector<std::size_t>& order_;
  std::vector<WorkerAnswer>& answers_;
  const AskHooks& hooks_;
};

}  // namespace

std::vector<WorkerAnswer> AskWorkers(Wiring& wiring, const std::string& address,
                                     const std::vector<ssh::Job>& jobs,
                                     std::chrono::milliseconds command_limit,
                                     const AskHooks& hooks) {
  std::vector<WorkerAnswer> answers;
  std::vector<ssh::Job> reachable;
  std::vector<std::size_t> order;
  for (const ssh::Job& job : jobs) {
    answers.push_back({job.worker, {}, {}, {}});
    if (job.worker.host.empty()) {
      answers.back().result.message = "the node shows no address for it";
      if (hooks.on_result) hooks.on_result(answers.size() - 1, answers.back().result);
      continue;
    }
    order.push_back(answers.size() - 1);
    reachable.push_back(job);
  }
  ssh::Limits limits;
  limits.retry = kPatience;
  limits.command = command_limit;
  // Where they wait for one another, none may wait for another's connection to be free.
  limits.max_open = std::max(limits.max_open, static_cast<int>(reachable.size()));
  Listener listener(order, answers, hooks);
  auto results = wiring.ssh().Run(reachable, limits, listener, wiring.interrupt().drain());
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

std::string CauseOfSilence(const WorkerAnswer& answer) {
  const ssh::WorkerResult& result = answer.result;
  if (result.outcome == ssh::Outcome::kExited) {
    return answer.last_words.empty()
               ? fmt::format("exit code {}", result.exit_code)
               : fmt::format("exit code {}: {}", result.exit_code, answer.last_words);
  }
  if (result.outcome == ssh::Outcome::kSignaled) return fmt::format("killed by {}", result.signal);
  if (result.message.empty()) return std::string(ssh::OutcomeName(result.outcome));
  std::string cause = result.message;
  if (const auto tries = cause.rfind(" (tried "); tries != std::string::npos) cause.erase(tries);
  const std::string at = fmt::format("{}:{}", answer.worker.host, answer.worker.port);
  const auto found = cause.find(at);
  if (found == std::string::npos) return cause;
  if (cause.compare(found + at.size(), 1, " ") == 0) return cause.erase(found, at.size() + 1);
  return cause.replace(found, at.size(), fmt::format("port {}", answer.worker.port));
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
}

}  // namespace podctl
