// The workers of one pod as a command asks them: over this run's SSH, shown on its streams, ended
// by its interrupts, and with the host keys remembered that they show for the first time.
#pragma once

#include <string>
#include <vector>

#include "cmd/outlet.h"
#include "cmd/views/round_view.h"
#include "plans/fleet/worker_round.h"
#include "plans/session/known_pods.h"
#include "providers/os/clock.h"

namespace podctl {

class PodRounds {
 public:
  // `address`: of the pod whose record gets the host keys. The doors are lent.
  PodRounds(const KnownPods& pods, const std::string& address, Streams& streams, Clock& clock,
            ssh::Transport& transport, const Stops& stops)
      : view_(streams, clock,
              [&pods, address](const std::map<int, HostKeyText>& learned) {
                pods.Remember(address, learned);
              }),
        rounds_(transport, view_, stops.drain, stops.leave) {}
  WorkerRounds& operator*() { return rounds_; }

 private:
  RoundView view_;
  WorkerRounds rounds_;
};

// Workers of whom there is no answer, on standard error, and what may help them: "2 of 4 workers
// failed: …".
void ShowSilent(const std::vector<WorkerAnswer>& answers, const KnownPods& pods, Streams& streams);

}  // namespace podctl
