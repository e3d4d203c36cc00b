// The common start of a job: workers that are ready wait for one more line, which this feed holds
// back until it is opened, and then gives to all of them at once.
//
// Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "providers/ssh/transport.h"
#include "providers/workers/runs.h"

namespace podctl {

class StartGate final : public ssh::InputFeed {
 public:
  // Whether the input ends behind the line, or is held open for as long as the connection lives.
  enum class After { kEnds, kStaysOpen };
  explicit StartGate(After after = After::kEnds) : after_(after) {}

  // Each has an effect once, and the first of the two counts.
  void Open() { Become(State::kOpen); }
  void CallOff() { Become(State::kCalledOff); }  // who waits gets the end of its input

  std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size) override {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kOpen || offset >= workers::kGoLine.size()) return 0;
    return workers::kGoLine.copy(bytes, size, static_cast<std::size_t>(offset));
  }
  bool EndsAt(std::uint64_t offset) override {
    const std::lock_guard lock(mutex_);
    return state_ == State::kCalledOff ||
           (state_ == State::kOpen && after_ == After::kEnds && offset >= workers::kGoLine.size());
  }
  void Listen(std::function<void()> more) override {
    const std::lock_guard lock(mutex_);
    more_ = std::move(more);
  }

 private:
  enum class State { kShut, kOpen, kCalledOff };
  void Become(State state) {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kShut) return;
    state_ = state;
    if (more_) more_();
  }

  const After after_;
  std::mutex mutex_;
  State state_ = State::kShut;
  std::function<void()> more_;
};

}  // namespace podctl
