#include "providers/ssh/switchboard.h"

#include <utility>

#include "providers/base/error.h"

namespace podctl::ssh {

std::vector<WorkerResult> Switchboard::Run(const std::vector<Job>& jobs, const Limits& limits,
                                           Observer& observer, std::stop_token stop) {
  if (jobs.empty()) return {};
  const bool use_openssh = jobs.front().worker.use_openssh;
  std::vector<Job> known = jobs;
  for (Job& job : known) {
    PODCTL_CHECK(job.worker.use_openssh == use_openssh);
    known_hosts_.Consult(job.worker);
  }
  Transport& transport = use_openssh ? openssh_ : own_;
  return transport.Run(known, limits, observer, std::move(stop));
}

std::size_t Switchboard::MostAtOnce(const std::vector<WorkerAccess>& workers) const {
  if (workers.empty()) return 1;
  const Transport& transport = workers.front().use_openssh ? openssh_ : own_;
  return transport.MostAtOnce(workers);
}

}  // namespace podctl::ssh
