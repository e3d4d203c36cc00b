#include "providers/ssh/tally.h"

#include <algorithm>

namespace podctl::ssh {

Tally::Tally(std::size_t jobs) : workers_(jobs, {Phase::kWaiting, {}, causes_.end()}) {
  in_phase_[static_cast<std::size_t>(Phase::kWaiting)] = jobs;
}

void Tally::OnPhase(std::size_t job, Phase phase) {
  Worker& worker = workers_.at(job);
  if (worker.phase == Phase::kDone) return;
  const bool on_its_way = phase == Phase::kConnecting || phase == Phase::kAuthenticating;
  if (worker.phase == Phase::kRetrying && on_its_way) return;
  Enter(worker, phase);
}

void Tally::OnTryAgain(std::size_t job, const Cause& why) {
  Worker& worker = workers_.at(job);
  worker.trouble = why;
  if (worker.phase != Phase::kRetrying) return;
  Uncount(worker);
  Count(worker);
}

void Tally::OnResult(std::size_t job, bool ok) {
  Worker& worker = workers_.at(job);
  if (worker.phase == Phase::kDone) return;
  Enter(worker, Phase::kDone);
  ++(ok ? ok_ : failed_);
}

std::string Tally::WhyRetrying() const {
  const auto most =
      std::max_element(causes_.begin(), causes_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == causes_.end() ? "" : most->first;
}

void Tally::Enter(Worker& worker, Phase phase) {
  Uncount(worker);
  --in_phase_[static_cast<std::size_t>(worker.phase)];
  ++in_phase_[static_cast<std::size_t>(phase)];
  worker.phase = phase;
  if (phase == Phase::kRetrying) Count(worker);
}

void Tally::Count(Worker& worker) {
  if (!worker.trouble) return;
  worker.counted = causes_.try_emplace(BriefWords(worker.trouble), 0).first;
  ++worker.counted->second;
}

void Tally::Uncount(Worker& worker) {
  if (worker.counted == causes_.end()) return;
  if (--worker.counted->second == 0) causes_.erase(worker.counted);
  worker.counted = causes_.end();
}

}  // namespace podctl::ssh
