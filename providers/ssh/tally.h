// How far a run has come on its workers, counted so that each is in one place only: it ended well,
// it failed, or it is in a phase; and why those are tried again that are.
//
// An observer feeds it with what it hears. Not thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "providers/ssh/cause.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

class Tally {
 public:
  explicit Tally(std::size_t jobs);
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  // A worker that is tried again counts as that until its command runs, whatever a try has reached.
  void OnPhase(std::size_t job, Phase phase);
  void OnTryAgain(std::size_t job, const Cause& why);
  // It is in no phase any more.
  void OnResult(std::size_t job, bool ok);

  std::size_t size() const { return workers_.size(); }
  std::size_t ok() const { return ok_; }
  std::size_t failed() const { return failed_; }
  std::size_t In(Phase phase) const { return in_phase_[static_cast<std::size_t>(phase)]; }
  Phase PhaseOf(std::size_t job) const { return workers_.at(job).phase; }
  // The last one that was told; it need not be in the way any more.
  const Cause& TroubleOf(std::size_t job) const { return workers_.at(job).trouble; }
  // The most frequent cause of those that are tried again, in a few words of its own, which may be
  // another program's; "" where none is known.
  std::string WhyRetrying() const;

 private:
  using Counts = std::map<std::string, std::size_t>;
  struct Worker {
    Phase phase = Phase::kWaiting;
    Cause trouble;
    Counts::iterator counted;  // among causes_; its end: not at all
  };

  void Enter(Worker& worker, Phase phase);
  void Count(Worker& worker);
  void Uncount(Worker& worker);

  Counts causes_;  // of those that are tried again; before whoever points into it
  std::vector<Worker> workers_;
  std::array<std::size_t, 6> in_phase_{};  // by Phase
  std::size_t ok_ = 0;
  std::size_t failed_ = 0;
};

}  // namespace podctl::ssh
