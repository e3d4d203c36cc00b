// The SSH transport: one command on thousands of workers, over libssh2, from one poller thread.
//
// Run starts that thread, delivers what it finds to the observer on the caller's own thread, and
// joins it before it returns. Each worker is a small state machine (connection.h); sessions never
// change threads. Output waiting for the observer is bounded: then workers are read no further.
#pragma once

#include "providers/os/clock.h"
#include "providers/ssh/identities.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

class FanOut final : public Transport {
 public:
  // All three are lent and must outlive it. Thread safe, as far as they are.
  FanOut(Keyring& keyring, Clock& clock, Random& random)
      : keyring_(keyring), clock_(clock), random_(random) {}

  std::vector<WorkerResult> Run(const std::vector<Job>& jobs, const Limits& limits,
                                Observer& observer, std::stop_token stop) override;

 private:
  Keyring& keyring_;
  Clock& clock_;
  Random& random_;
};

}  // namespace podctl::ssh
