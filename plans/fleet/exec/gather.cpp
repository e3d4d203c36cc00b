#include "plans/fleet/exec/gather.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "plans/fleet/exec/outcome.h"

namespace podctl {

using Place = OutputStore::Place;

Gatherer::Gatherer(const std::vector<ssh::Job>& jobs, std::string scratch_folder)
    : jobs_(jobs), store_(std::move(scratch_folder)), workers_(jobs.size()) {}

void Gatherer::OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) {
  Worker& worker = workers_.at(job);
  store_.Add(stream == ssh::Stream::kOut ? worker.out : worker.err, bytes);
}

void Gatherer::OnEnd(std::size_t job, const ssh::WorkerResult& result) {
  Worker& worker = workers_.at(job);
  worker.end = ssh::CauseOf(result);
  const auto ran = {ssh::Outcome::kExited, ssh::Outcome::kSignaled, ssh::Outcome::kTimedOut};
  const Place nowhere;
  worker.started = std::find(ran.begin(), ran.end(), result.outcome) != ran.end() ||
                   worker.out != nowhere || worker.err != nowhere;
}

std::vector<Gatherer::Group> Gatherer::Groups() const {
  std::map<std::tuple<Place, Place, std::string>, Group> by_output;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const Worker& worker = workers_[i];
    if (!worker.started) continue;
    Group& group = by_output[{worker.out, worker.err, worker.end}];
    group.out = worker.out;
    group.err = worker.err;
    group.end = worker.end;
    group.workers.push_back(jobs_[i].worker.index);
  }
  std::vector<Group> groups;
  for (auto& [key, group] : by_output) groups.push_back(std::move(group));
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.workers.size() != b.workers.size()) return a.workers.size() > b.workers.size();
    return a.workers.front() < b.workers.front();
  });
  return groups;
}

}  // namespace podctl
