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
  // Whether the input ends behind the line, or is held open for as long as the connection lives.
  enum class After { kEnds, kStaysOpen };
  explicit StartGate(After after = After::kEnds) : after_(after) {}

  // Each has an effect once, and the first of the two counts.
  void Open();
  void CallOff();  // who waits gets the end of its input in place of the line

  std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size) override;
  bool EndsAt(std::uint64_t offset) override;
  void Listen(std::function<void()> more) override;

 private:
  enum class State { kShut, kOpen, kCalledOff };
  void Become(State state);

  const After after_;
  std::mutex mutex_;
  State state_ = State::kShut;
  std::function<void()> more_;
};

}  // namespace podctl
