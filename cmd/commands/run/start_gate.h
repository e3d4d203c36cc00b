// The common start of a job: workers that are ready wait for one more line, which this feed holds
// back until it is opened, and then gives to all of them at once.
//
// Thread safe.
#pragma once

#include <functional>
#include <mutex>

#include "providers/ssh/transport.h"

namespace podctl {

class StartGate final : public ssh::InputFeed {
 public:
  // Each has an effect once, and the first of the two counts.
  void Open();
  void CallOff();  // who waits gets the end of its input in place of the line

  std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size) override;
  bool EndsAt(std::uint64_t offset) override;
  void Listen(std::function<void()> more) override;

 private:
  enum class State { kShut, kOpen, kCalledOff };
  void Become(State state);

  std::mutex mutex_;
  State state_ = State::kShut;
  std::function<void()> more_;
};

}  // namespace podctl
