#include "providers/ssh/switchboard.h"

#include <utility>

namespace podctl::ssh {

std::vector<WorkerResult> Switchboard::Run(const std::vector<Job>& jobs, const Limits& limits,
                                           Observer& observer, std::stop_token stop) {
  std::vector<Job> known = jobs;
  for (Job& job : known) known_hosts_.Consult(job.worker);
  return own_.Run(known, limits, observer, std::move(stop));
}

}  // namespace podctl::ssh
