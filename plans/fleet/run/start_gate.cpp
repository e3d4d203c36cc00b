#include "plans/fleet/run/start_gate.h"

#include <algorithm>
#include <utility>

#include "providers/workers/runs.h"

namespace podctl {

void StartGate::Open() {
  Become(State::kOpen);
}

void StartGate::CallOff() {
  Become(State::kCalledOff);
}

void StartGate::Become(State state) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kShut) return;
  state_ = state;
  if (more_) more_();
}

std::size_t StartGate::Read(std::uint64_t offset, char* bytes, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kOpen || offset >= workers::kGoLine.size()) return 0;
  return workers::kGoLine.copy(bytes, size, static_cast<std::size_t>(offset));
}

bool StartGate::EndsAt(std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  return state_ == State::kCalledOff ||
         (state_ == State::kOpen && after_ == After::kEnds && offset >= workers::kGoLine.size());
}

void StartGate::Listen(std::function<void()> more) {
  const std::lock_guard lock(mutex_);
  more_ = std::move(more);
}

}  // namespace podctl
