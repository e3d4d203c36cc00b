// What is shown of rounds over the workers of a pod: while one takes long its progress, as exec
// shows it, and who gave no answer. Knows nothing of what was asked.
#pragma once

#include <atomic>
#include <map>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cmd/output_filter.h"
#include "cmd/views/exec_output.h"
#include "plans/fleet/worker_round.h"
#include "plans/session/known_pods.h"
#include "plans/session/loss_watch.h"
#include "providers/os/clock.h"

namespace podctl {

class RoundView final : public RoundWatcher {
 public:
  // All but `address` are lent. Beside a document nothing is shown. `address`: of the pod whose
  // record gets the host keys that are seen for the first time.
  RoundView(Streams& streams, Clock& clock, const KnownPods& pods, std::string address)
      : clock_(clock),
        pods_(pods),
        address_(std::move(address)),
        shown_(!streams.json),
        display_(streams, clock, {}) {}

  void OnBegin(const std::vector<ssh::Job>& jobs, const RoundWords& words) override;
  void OnPhase(std::size_t job, ssh::Phase phase) override {
    if (shown_) display_.OnPhase(job, phase);
  }
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override {
    if (shown_) display_.OnTryAgain(job, why);
  }
  void OnWaits(std::size_t) override { waits_ = true; }
  void OnAnswer(std::size_t job, const WorkerAnswer& answer) override {
    if (shown_) display_.OnOver(job, answer.result.ok() ? "" : CauseOfSilence(answer));
  }
  void OnEnd() override;
  void OnHostKeys(const std::map<int, HostKeyText>& learned) override {
    pods_.Remember(address_, learned);
  }

 private:
  Clock& clock_;
  const KnownPods& pods_;
  const std::string address_;
  const bool shown_;
  ExecDisplay display_;
  std::atomic<bool> waits_ = false;  // a worker, in the round that goes on
  std::stop_source unheard_;         // of the display: nothing is ended by it
  std::jthread ticker_;              // of the round that goes on; last: it ends first
};

// Of rounds of which only what was found is told: nothing is shown.
class QuietRounds final : public RoundWatcher {
 public:
  // `pods` is lent.
  QuietRounds(const KnownPods& pods, std::string address)
      : pods_(pods), address_(std::move(address)) {}
  void OnBegin(const std::vector<ssh::Job>&, const RoundWords&) override {}
  void OnPhase(std::size_t, ssh::Phase) override {}
  void OnTryAgain(std::size_t, const ssh::Cause&) override {}
  void OnWaits(std::size_t) override {}
  void OnAnswer(std::size_t, const WorkerAnswer&) override {}
  void OnEnd() override {}
  void OnHostKeys(const std::map<int, HostKeyText>& learned) override {
    pods_.Remember(address_, learned);
  }

 private:
  const KnownPods& pods_;
  const std::string address_;
};

// "2 of 4 workers failed:", and below it why, a line for each cause; "" where there is none.
std::string FailedText(const WorkerGroups& causes, std::size_t of, int per_slice);
// The same of answers that did not come.
std::string SilenceText(const std::vector<WorkerAnswer>& answers);

// The workers of one pod as a command asks them: over this run's SSH, shown on its streams and
// ended by its interrupts.
class PodRounds {
 public:
  // The doors are lent; `address` as above.
  PodRounds(const KnownPods& pods, const std::string& address, Streams& streams, Clock& clock,
            ssh::Transport& transport, const StopTokens& stops)
      : view_(streams, clock, pods, address),
        ssh_(transport, pods),
        rounds_(ssh_, view_, stops.drain, stops.leave) {}
  WorkerRounds& operator*() { return rounds_; }

 private:
  RoundView view_;
  LossAwareTransport ssh_;
  WorkerRounds rounds_;
};

// The same as an error, for a tool: `what` did not come about, and what may help them.
Error SilenceError(const std::string& what, const std::vector<WorkerAnswer>& answers,
                   const KnownPods& pods);
// Workers of whom there is no answer, on standard error, and what may help them: "2 of 4 workers
// failed: …".
void ShowSilent(const std::vector<WorkerAnswer>& answers, const KnownPods& pods, Streams& streams);

}  // namespace podctl
