// What came of a command on many workers: who is not well, and workers by what happened to them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "providers/ssh/transport.h"

namespace podctl {

struct ExecOutcome {
  std::vector<ssh::Job> jobs;
  std::vector<ssh::WorkerResult> results;  // of the jobs, in their order
  bool interrupted = false;
};

// What each kind of trouble means for who has to decide what to do next.
enum class Fate { kFailed, kLost, kCancelled, kSkipped };
inline constexpr std::size_t kFates = 4;

struct CauseGroup {
  std::string cause;
  std::string_view shown;  // of it, what the heading does not say already
  std::vector<int> workers;
  std::vector<std::string> details;  // what differs from worker to worker; of the first ones
};
// Those that are not ok, by fate, then the biggest group first.
std::array<std::vector<CauseGroup>, kFates> GroupsByFate(const ExecOutcome& outcome);

// Host keys seen for the first time, by worker.
std::map<int, HostKeyText> LearnedKeys(const ExecOutcome& outcome);

}  // namespace podctl
