// Signals as values: the first INT, TERM or HUP asks to drain, the second to leave, the third ends
// the process at once.
//
// Signals that come within a quarter of a second are one: timeout(1) sends its own twice at once.
//
// Nobody has to press a key twice: what does not end by itself (a full pipe that nobody reads, a
// name server that does not answer) is ended some seconds after it was asked to, so that a CI
// runner's INT, 7.5 s, TERM, 2.5 s, KILL never comes to the KILL. That is safe at any moment: what
// must not be lost is on disk before it is acted on.
//
// One object a process. Handlers (not blocked masks, not SIG_IGN) are used, so that programs
// started from here begin with the usual dispositions. A signal that this process was started to
// ignore (nohup, a shell's background job) stays ignored. TSTP and CONT keep their meaning.
#pragma once

#include <atomic>
#include <chrono>
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

  // For a command that may take its time to end: only further signals hurry it.
  void NeverHurry() { patient_ = true; }

  // How often the process went on after having been stopped (Ctrl-Z and fg): what a display drew
  // before is not where it was any more. Never goes down.
  static int Resumed();

 private:
  void Watch();
  // How long a signal is waited for before the next one is taken for given; < 0: for ever.
  std::chrono::milliseconds Patience(int count) const;

  std::stop_source drain_;
  std::stop_source leave_;
  std::atomic<bool> patient_{false};
  std::jthread watcher_;
};

inline constexpr int kInterruptedExitCode = 130;

}  // namespace podctl
