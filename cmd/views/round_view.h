// What is shown of rounds over the workers of a pod: while one takes long its progress, as exec
// shows it, and who gave no answer. Knows nothing of what was asked.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cmd/outlet.h"
#include "cmd/views/exec_output.h"
#include "cmd/views/exec_progress.h"
#include "plans/fleet/worker_round.h"
#include "providers/os/clock.h"

namespace podctl {

class RoundView final : public RoundWatcher {
 public:
  using Remember = std::function<void(const std::map<int, HostKeyText>& learned)>;

  // `streams` and `clock` are lent. Beside a document nothing is shown. `remember` is
  // given the host keys seen for the first time.
  RoundView(Streams& streams, Clock& clock, Remember remember);

  void OnBegin(const std::vector<ssh::Job>& jobs, const std::string& waits_for) override;
  void OnPhase(std::size_t job, ssh::Phase phase) override;
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override;
  void OnAnswer(std::size_t job, const WorkerAnswer& answer) override;
  void OnEnd() override;
  void OnHostKeys(const std::map<int, HostKeyText>& learned) override { remember_(learned); }

 private:
  void Tick();

  Streams& streams_;
  Clock& clock_;
  const Remember remember_;
  // Of the round that goes on.
  Clock::SteadyTime began_{};
  std::mutex mutex_;  // of what follows
  std::string waits_for_;
  std::optional<ExecProgress> progress_;
  std::optional<ExecConsole> console_;
  std::jthread ticker_;  // last: it ends first
};

// "2 of 4 workers failed:", and below it why, a line for each cause; "" where there is none.
std::string FailedText(const WorkerGroups& causes, std::size_t of, int per_slice);
// The same of answers that did not come.
std::string SilenceText(const std::vector<WorkerAnswer>& answers);

}  // namespace podctl
