// What is shown of rounds over the workers of a pod: while one takes long its progress, as exec
// shows it, and who gave no answer. Knows nothing of what was asked.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cmd/streams.h"
#include "plans/fleet/worker_round.h"
#include "providers/os/clock.h"

namespace podctl {

class RoundView final : public RoundWatcher {
 public:
  using Remember = std::function<void(const std::map<int, HostKeyText>& learned)>;

  // `streams` and `clock` are lent. With `json` nothing is shown beside the document. `remember` is
  // given the host keys seen for the first time, after each round.
  RoundView(Streams& streams, bool json, Clock& clock, Remember remember);
  ~RoundView() override;

  void OnBegin(const std::vector<ssh::Job>& jobs, const std::string& waits_for) override;
  void OnPhase(std::size_t job, ssh::Phase phase) override;
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override;
  void OnAnswer(std::size_t job, const WorkerAnswer& answer) override;
  void OnEnd(const std::map<int, HostKeyText>& learned) override;

 private:
  class Screen;

  Streams& streams_;
  const bool json_;
  Clock& clock_;
  const Remember remember_;
  std::unique_ptr<Screen> screen_;  // of the round that goes on
};

// "2 of 4 workers failed:", and below it why; "" where all have answered.
std::string SilenceText(const std::vector<WorkerAnswer>& answers);

}  // namespace podctl
