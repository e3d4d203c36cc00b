// The transport that podctl uses: gathers what the user's known_hosts files say of each worker, and
// leaves the work to libssh2 or, where the worker says so, to the program ssh. Knows nothing of
// connections.
#pragma once

#include "providers/ssh/known_hosts.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

class Switchboard final : public Transport {
 public:
  // All are lent and must outlive it. Thread safe, as far as they are.
  Switchboard(Transport& own, Transport& openssh, KnownHostsFiles& known_hosts)
      : own_(own), openssh_(openssh), known_hosts_(known_hosts) {}

  // One run goes through one transport: its jobs are those of one pod, which says which.
  std::vector<WorkerResult> Run(const std::vector<Job>& jobs, const Limits& limits,
                                Observer& observer, std::stop_token stop) override;
  std::size_t MostAtOnce(const std::vector<WorkerAccess>& workers) const override;

 private:
  Transport& own_;
  Transport& openssh_;
  KnownHostsFiles& known_hosts_;
};

}  // namespace podctl::ssh
