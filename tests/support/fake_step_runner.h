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
  // The next run on each of these ends with a message of its own, and with what they share.
  void FailAlike(const std::vector<int>& workers, const std::string& message,
                 const std::string& shared) {
    std::lock_guard lock(mutex_);
    for (const int worker : workers) {
      faults_[worker] = {message + std::to_string(worker), {}, 1, shared};
    }
  }
  // The next `times` proofs of readiness find this on the worker.
  void FailReadiness(int worker, std::string message, int times = 1) {
    std::lock_guard lock(mutex_);
    unready_[worker] = {std::move(message), {}, times};
  }
  // As on an image for JAX or PyTorch: a restart finds nothing to restart, and says so.
  void HaveNoRuntimeUnit() { no_unit_ = true; }
  // Workers without pinned keys show this one, with their number behind it.
  void ShowHostKey(std::string key) {
    std::lock_guard lock(mutex_);
    host_key_ = std::move(key);
  }
  // Runs at the beginning of each run but the proofs of readiness.
  void OnRun(std::function<void(const Call&, std::stop_token)> act) { act_ = std::move(act); }

  // From now on a run tells at its beginning that all of its workers are tried again, and why.
  void Retry(const std::string& why) {
    std::lock_guard lock(mutex_);
    why_retrying_ = why;
  }

  // Runs at the beginning of each proof of readiness.
  void OnReadiness(std::function<void(const Call&)> see) { see_ = std::move(see); }

  std::vector<Call> Calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }
  // Proofs of readiness, which are not among Calls: every create has one.
  std::vector<Call> ReadinessCalls() const {
    std::lock_guard lock(mutex_);
    return readiness_;
  }
  void ForgetCalls() {
    std::lock_guard lock(mutex_);
    calls_.clear();
    readiness_.clear();
  }

  std::vector<StepOutcome> Run(const Step& step, const std::vector<WorkerAccess>& workers,
                               StepObserver& observer, std::stop_token stop) override {
    Call call{step, workers.empty() ? "" : workers.front().pod, {}, workers};
    for (const WorkerAccess& worker : workers) call.workers.push_back(worker.index);
    const bool readiness = step.kind == Step::Kind::kReadiness;
    if (act_ && !readiness) act_(call, stop);
    if (see_ && readiness) see_(call);
    std::lock_guard lock(mutex_);
    (readiness ? readiness_ : calls_).push_back(std::move(call));
    std::vector<StepOutcome> outcomes;
    StepProgress progress;
    if (!why_retrying_.empty()) {
      progress.retrying = workers.size();
      progress.why_retrying = why_retrying_;
      observer.OnStepProgress(progress);
    }
    for (const WorkerAccess& worker : workers) {
      outcomes.push_back(RunOn(worker, readiness ? unready_ : faults_, stop));
      ++(outcomes.back().ok ? progress.ok : progress.failed);
      if (progress.retrying > 0) --progress.retrying;
      if (progress.retrying == 0) progress.why_retrying.clear();
      if (no_unit_ && step.kind == Step::Kind::kRestartRuntime) {
        outcomes.back().message = "no tpu-runtime here";
        continue;
      }
      if (!readiness) observer.OnStepLine(worker.index, "hello");
      if (!readiness && outcomes.back().ok) {
        observer.OnStepApplied(worker.index, outcomes.back().learned_host_key);
      }
      observer.OnStepProgress(progress);
    }
    return outcomes;
  }

 private:
  struct Fault {
    std::string message;
    std::vector<std::string> last_lines;
    int times = 0;
    std::string shared = {};
  };

  StepOutcome RunOn(const WorkerAccess& worker, std::map<int, Fault>& faults,
                    const std::stop_token& stop) {
    StepOutcome outcome{worker.index, true, {}, {}, {}};
    if (stop.stop_requested()) return {worker.index, false, "stopped", {}, {}};
    if (!host_key_.empty() && worker.host_keys.empty()) {
      outcome.learned_host_key = host_key_ + std::to_string(worker.index);
    }
    auto fault = faults.find(worker.index);
    if (fault == faults.end() || fault->second.times-- <= 0) return outcome;
    outcome.ok = false;
    outcome.message = fault->second.message;
    outcome.last_lines = fault->second.last_lines;
    outcome.shared = fault->second.shared;
    return outcome;
  }

  mutable std::mutex mutex_;
  bool no_unit_ = false;
  std::function<void(const Call&, std::stop_token)> act_;
  std::function<void(const Call&)> see_;
  std::map<int, Fault> faults_;
  std::map<int, Fault> unready_;
  std::string host_key_;
  std::string why_retrying_;
  std::vector<Call> calls_;
  std::vector<Call> readiness_;
};

}  // namespace podctl::testing
