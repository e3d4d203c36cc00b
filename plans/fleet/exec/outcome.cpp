#include "plans/fleet/exec/outcome.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace podctl {
namespace {

using ssh::Outcome;

constexpr std::size_t kMostDetails = 4;  // of one cause

Fate FateOf(const ssh::WorkerResult& result) {
  switch (result.outcome) {
    case Outcome::kLost:
      return Fate::kLost;
    case Outcome::kCancelled:
      return Fate::kCancelled;
    case Outcome::kSkipped:
      return Fate::kSkipped;
    default:
      return Fate::kFailed;
  }
}

}  // namespace

std::array<std::vector<CauseGroup>, kFates> GroupsByFate(const ExecOutcome& outcome,
                                                         CauseWords words) {
  std::array<std::map<std::string, CauseGroup>, kFates> by_cause;
  for (std::size_t i = 0; i < outcome.results.size(); ++i) {
    const ssh::WorkerResult& result = outcome.results[i];
    if (result.ok()) continue;
    const std::string cause = words(result);
    CauseGroup& group = by_cause[static_cast<std::size_t>(FateOf(result))][cause];
    group.cause = cause;
    group.shown = result.cause.code == ssh::Cause::Code::kCancelled
                      ? ssh::TerminationWords(result.cause.termination)
                      : "";
    group.workers.push_back(outcome.jobs[i].worker.index);
    std::string own = ssh::OwnWords(result.cause);
    if (!own.empty() && group.details.size() < kMostDetails)
      group.details.push_back(std::move(own));
  }
  std::array<std::vector<CauseGroup>, kFates> groups;
  for (std::size_t fate = 0; fate < kFates; ++fate) {
    for (auto& [cause, group] : by_cause[fate]) groups[fate].push_back(std::move(group));
    std::stable_sort(groups[fate].begin(), groups[fate].end(),
                     [](const CauseGroup& a, const CauseGroup& b) {
                       return std::pair(b.workers.size(), a.workers.front()) <
                              std::pair(a.workers.size(), b.workers.front());
                     });
  }
  return groups;
}

std::map<int, HostKeyText> LearnedKeys(const ExecOutcome& outcome) {
  std::map<int, HostKeyText> learned;
  for (std::size_t i = 0; i < outcome.results.size(); ++i) {
    const auto& key = outcome.results[i].learned_host_key;
    if (key) learned[outcome.jobs[i].worker.index] = *key;
  }
  return learned;
}

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

Result<KeptOutputs> KeptOutputs::Open(const std::vector<ssh::Job>& jobs, FileSystem& files,
                                      const Settings& settings, const std::string& scratch) {
  KeptOutputs kept;
  if (settings.gather) kept.gatherer_ = std::make_unique<Gatherer>(jobs, scratch);
  if (!settings.folder.empty()) {
    auto folder = OutputFolder::Open(
        jobs, files, settings.folder,
        settings.replace ? OutputFolder::Found::kReplace : OutputFolder::Found::kRefuse,
        settings.below);
    if (!folder) return folder.error();
    kept.folder_ = *std::move(folder);
  }
  if (kept.gatherer_ && kept.folder_) {
    kept.both_ = std::make_unique<SinkPair>(*kept.gatherer_, *kept.folder_);
  }
  return kept;
}

OutputSink* KeptOutputs::sink() const {
  if (both_) return both_.get();
  return gatherer_ ? static_cast<OutputSink*>(gatherer_.get()) : folder_.get();
}

}  // namespace podctl
