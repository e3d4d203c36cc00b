// The workers of a pod as an ssh::Transport that answers from a script: no connections, no threads,
// one worker after the other. And who watches rounds over them, for tests that do not.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plans/fleet/exec/exec.h"
#include "plans/fleet/worker_round.h"
#include "providers/ssh/transport.h"
#include "providers/workers/runs.h"

namespace podctl::testing {

class FakeWorkers final : public ssh::Transport {
 public:
  struct Answer {
    std::vector<std::string> out = {};
    std::vector<std::string> err = {};
    ssh::WorkerResult result = Exit(0);
    bool staged = true;  // of a job with a feed: it gets ready, and waits
  };
  using Behaviour = std::function<Answer(const ssh::Job& job)>;

  explicit FakeWorkers(Behaviour behaviour) : behaviour_(std::move(behaviour)) {}

  static ssh::WorkerResult Exit(int code) {
    ssh::WorkerResult result;
    result.outcome = ssh::Outcome::kExited;
    result.exit_code = code;
    return result;
  }
  static ssh::WorkerResult Trouble(ssh::Outcome outcome, std::string message) {
    ssh::WorkerResult result;
    result.outcome = outcome;
    result.message = std::move(message);
    return result;
  }

  // At most `most_at_once` at a time. Of those, who have a feed say that they are ready before the
  // first of them is told to begin; who is told nothing waits in vain.
  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>& jobs, const ssh::Limits& limits,
                                     ssh::Observer& observer, std::stop_token stop) override {
    rounds.push_back(jobs);
    last_limits = limits;
    std::vector<ssh::WorkerResult> results(jobs.size());
    for (std::size_t begin = 0; begin < jobs.size(); begin += most_at_once) {
      RunSome(jobs, begin, std::min(begin + most_at_once, jobs.size()), observer, stop, &results);
    }
    return results;
  }
  std::size_t MostAtOnce(const std::vector<WorkerAccess>& /*workers*/) const override {
    return most_at_once;
  }

  std::vector<std::vector<ssh::Job>> rounds;  // what was asked for, Run by Run
  ssh::Limits last_limits;
  std::size_t most_at_once = 1024;

 private:
  void RunSome(const std::vector<ssh::Job>& jobs, std::size_t begin, std::size_t end,
               ssh::Observer& observer, const std::stop_token& stop,
               std::vector<ssh::WorkerResult>* results) {
    std::vector<Answer> answers(end);
    const auto is_unready = [&](std::size_t i) { return jobs[i].feed && !answers[i].staged; };
    for (std::size_t i = begin; i < end; ++i) {
      answers[i] = behaviour_(jobs[i]);
      if (is_unready(i)) {
        Tell(i, answers[i].result, observer, results);
      } else if (jobs[i].feed != nullptr) {
        observer.OnLine(i, ssh::Stream::kErr, workers::kStagedLine);
      }
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (is_unready(i)) continue;
      if (const auto never = WhyNever(jobs[i], stop)) {
        Tell(i, *never, observer, results);
        continue;
      }
      for (const std::string& line : answers[i].out) Say(i, ssh::Stream::kOut, line, observer);
      for (const std::string& line : answers[i].err) Say(i, ssh::Stream::kErr, line, observer);
      Tell(i, answers[i].result, observer, results);
    }
  }
  static std::optional<ssh::WorkerResult> WhyNever(const ssh::Job& job,
                                                   const std::stop_token& stop) {
    if (stop.stop_requested()) return Trouble(ssh::Outcome::kCancelled, "cancelled");
    char bytes[8];
    if (job.feed == nullptr || job.feed->Read(0, bytes, sizeof bytes) > 0) return std::nullopt;
    if (job.feed->EndsAt(0)) return Exit(workers::kNotStarted);
    return Trouble(ssh::Outcome::kTimedOut, "it was never told to begin");
  }
  static void Say(std::size_t job, ssh::Stream stream, const std::string& line,
                  ssh::Observer& observer) {
    if (observer.TakesBytes()) return observer.OnBytes(job, stream, line + "\n");
    observer.OnLine(job, stream, line);
  }
  static void Tell(std::size_t job, const ssh::WorkerResult& result, ssh::Observer& observer,
                   std::vector<ssh::WorkerResult>* results) {
    results->at(job) = result;
    observer.OnResult(job, result);
  }

  const Behaviour behaviour_;
};

// `count` workers of "research".
inline std::vector<WorkerAccess> SomeWorkers(int count) {
  std::vector<WorkerAccess> workers;
  for (int i = 0; i < count; ++i) {
    WorkerAccess worker;
    worker.pod = "research";
    worker.index = i;
    worker.host = "10.0.0." + std::to_string(i + 1);
    workers.push_back(worker);
  }
  return workers;
}

// Writes down what is told of commands that run on workers.
class NotedCommands final : public ExecWatcher {
 public:
  // `lines` is lent. Where somebody else tells of results, `with_results` is false.
  explicit NotedCommands(std::vector<std::string>& lines, bool with_results = true)
      : lines_(lines), with_results_(with_results) {}

  void OnBegin(const std::vector<ssh::Job>& jobs, std::stop_source& unheard) override {
    lines_.push_back("begin " + std::to_string(jobs.size()));
    unheard_ = &unheard;
  }
  void OnLine(std::size_t job, ssh::Stream, std::string_view line) override {
    lines_.push_back(std::to_string(job) + " | " + std::string(line));
    if (stop_listening) unheard_->request_stop();
    if (on_line) on_line();
  }
  void OnOpenLine(std::size_t, ssh::Stream) override { ++open_lines; }
  void OnPhase(std::size_t, ssh::Phase) override {}
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    if (!with_results_) return;
    lines_.push_back(std::to_string(job) + ": " + std::string(ssh::OutcomeName(result.outcome)));
  }
  void Tick() override {}
  void OnEnd() override { lines_.push_back("end"); }

  bool stop_listening = false;
  std::function<void()> on_line;
  int open_lines = 0;

 private:
  std::vector<std::string>& lines_;
  const bool with_results_;
  std::stop_source* unheard_ = nullptr;
};

// Writes down what a round tells.
class NotedRounds final : public RoundWatcher {
 public:
  void OnBegin(const std::vector<ssh::Job>& jobs, const RoundWords& words) override {
    lines.push_back("begin " + std::to_string(jobs.size()) +
                    (words.waits_for.empty() ? "" : ": " + words.waits_for));
    if (!words.doing.empty()) doings.push_back(words.doing);
  }
  void OnPhase(std::size_t, ssh::Phase) override {}
  void OnTryAgain(std::size_t, const ssh::Cause&) override {}
  void OnWaits(std::size_t job) override { lines.push_back(std::to_string(job) + " waits"); }
  void OnAnswer(std::size_t job, const WorkerAnswer& answer) override {
    lines.push_back(std::to_string(job) +
                    (answer.result.ok() ? " ok" : ": " + CauseOfSilence(answer)));
  }
  void OnEnd() override { lines.push_back("end"); }
  void OnHostKeys(const std::map<int, HostKeyText>& keys) override {
    learned.insert(keys.begin(), keys.end());
  }

  std::vector<std::string> lines;
  std::vector<std::string> doings;  // what the rounds were there for
  std::map<int, HostKeyText> learned;
};

}  // namespace podctl::testing
