// The workers of one pod as a command asks them: over this run's SSH, shown on its streams, ended
// by its interrupts, and with the host keys remembered that they show for the first time.
#pragma once

#include <string>
#include <vector>

#include "cmd/views/round_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/worker_round.h"

namespace podctl {

class PodRounds {
 public:
  // `address`: of the pod whose record gets the host keys. `wiring` is lent.
  PodRounds(Wiring& wiring, const std::string& address);
  WorkerRounds& operator*() { return rounds_; }
  WorkerRounds* operator->() { return &rounds_; }

 private:
  RoundView view_;
  WorkerRounds rounds_;
};

// Workers of whom there is no answer, on standard error, and what may help them: "2 of 4 workers
// failed: …".
void ShowSilent(Wiring& wiring, const std::vector<WorkerAnswer>& answers);

}  // namespace podctl
