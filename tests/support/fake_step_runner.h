// Workers in memory: records what steps were run where, and fails where it is told to.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "providers/bootstrap/step_runner.h"

namespace podctl::testing {

class FakeStepRunner final : public StepRunner {
 public:
  struct Call {
    Step step;
    std::string pod;
    std::vector<int> workers;
    std::vector<WorkerAccess> access;
  };

  // The next `times` runs on this worker end with `message` and `last_lines`.
  void Fail(int worker, std::string message, std::vector<std::string> last_lines = {},
            int times = 1) {
    std::lock_guard lock(mutex_);
    faults_[worker] = {std::move(message), std::move(last_lines), times};
  }
  // Workers without pinned keys show this one, with their number behind it.
  void ShowHostKey(std::string key) {
    std::lock_guard lock(mutex_);
    host_key_ = std::move(key);
  }
  // Runs at the beginning of each run.
  void OnRun(std::function<void(const Call&, std::stop_token)> act) { act_ = std::move(act); }

  std::vector<Call> Calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }
  void ForgetCalls() {
    std::lock_guard lock(mutex_);
    calls_.clear();
  }

  std::vector<StepOutcome> Run(const Step& step, const std::vector<WorkerAccess>& workers,
                               StepObserver& observer, std::stop_token stop) override {
    Call call{step, workers.empty() ? "" : workers.front().pod, {}, workers};
    for (const WorkerAccess& worker : workers) call.workers.push_back(worker.index);
    if (act_) act_(call, stop);
    std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    std::vector<StepOutcome> outcomes;
    int done = 0;
    int failed = 0;
    for (const WorkerAccess& worker : workers) {
      outcomes.push_back(RunOn(worker, stop));
      ++(outcomes.back().ok ? done : failed);
      observer.OnStepLine(worker.index, "hello");
      observer.OnStepProgress(done, failed, 0);
    }
    return outcomes;
  }

 private:
  struct Fault {
    std::string message;
    std::vector<std::string> last_lines;
    int times = 0;
  };

  StepOutcome RunOn(const WorkerAccess& worker, const std::stop_token& stop) {
    StepOutcome outcome{worker.index, true, {}, {}, {}};
    if (stop.stop_requested()) return {worker.index, false, "stopped", {}, {}};
    if (!host_key_.empty() && worker.host_keys.empty()) {
      outcome.learned_host_key = host_key_ + std::to_string(worker.index);
    }
    auto fault = faults_.find(worker.index);
    if (fault == faults_.end() || fault->second.times-- <= 0) return outcome;
    outcome.ok = false;
    outcome.message = fault->second.message;
    outcome.last_lines = fault->second.last_lines;
    return outcome;
  }

  mutable std::mutex mutex_;
  std::function<void(const Call&, std::stop_token)> act_;
  std::map<int, Fault> faults_;
  std::string host_key_;
  std::vector<Call> calls_;
};

}  // namespace podctl::testing
