// The transport that podctl uses: gathers what the user's known_hosts files say of each worker, and
// then leaves the work to the transport below. Knows nothing of connections.
#pragma once

#include "providers/ssh/known_hosts.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

class Switchboard final : public Transport {
 public:
  // Both are lent and must outlive it. Thread safe, as far as they are.
  Switchboard(Transport& own, KnownHostsFiles& known_hosts)
      : own_(own), known_hosts_(known_hosts) {}

  std::vector<WorkerResult> Run(const std::vector<Job>& jobs, const Limits& limits,
                                Observer& observer, std::stop_token stop) override;

 private:
  Transport& own_;
  KnownHostsFiles& known_hosts_;
};

}  // namespace podctl::ssh
