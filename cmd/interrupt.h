// Signals as values: the first INT, TERM or HUP asks to drain, the second to leave, the third ends
// the process at once.
//
// One object a process. Handlers (not blocked masks, not SIG_IGN) are used, so that programs
// started from here begin with the usual dispositions.
#pragma once

#include <stop_token>
#include <thread>

namespace podctl {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token drain() const { return drain_.get_token(); }
  std::stop_token leave() const { return leave_.get_token(); }
  bool requested() const { return drain_.stop_requested(); }

 private:
  void Watch();

  std::stop_source drain_;
  std::stop_source leave_;
  std::jthread watcher_;
};

inline constexpr int kInterruptedExitCode = 130;

}  // namespace podctl
