// How far a command has come on many workers, in a few lines for people: counts by phase, who
// failed and why, who takes longest, the rate, and the time that is left. Draws nothing itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plans/fleet/exec/outcome.h"
#include "providers/base/value.h"
#include "providers/os/clock.h"
#include "providers/ssh/tally.h"
#include "providers/ssh/transport.h"

namespace podctl {

class ExecProgress {
 public:
  // `workers` are the numbers of the jobs' workers, in their order; `per_slice`: of each slice of
  // a multislice, else 0.
  ExecProgress(std::string pod, std::vector<int> workers, Clock& clock, int per_slice = 0);
  ExecProgress(const std::vector<ssh::Job>& jobs, Clock& clock);

  void OnPhase(std::size_t job, ssh::Phase phase);
  // Why it was not reached; it is tried again.
  void OnTryAgain(std::size_t job, const ssh::Cause& why) { tally_.OnTryAgain(job, why); }
  // `cause` as the summary words it; empty: the worker is done and ok.
  void OnResult(std::size_t job, const std::string& cause);

  // What else the first line tells, such as bytes; asked for whenever it is made.
  void ShowAmount(std::function<std::string()> amount) { amount_ = std::move(amount); }
  // What is under way, before everything else: "copying src".
  void ShowDoing(std::string doing) { doing_ = std::move(doing); }
  // From now on the commands are asked to end: how far that has come is all there is to say.
  void ShowEnding() { ending_ = true; }

  // For a terminal: one line, and further ones where there is more to say.
  std::vector<std::string> Lines();
  // For a log: the same counts as one line, with the time since the beginning.
  std::string PlainLine();
  // Of those that have not been reached for a while, what stands in the way of the first, at which
  // address, and what to do. Part of Lines.
  std::vector<std::string> TroubleLines() const;
  // The most frequent cause, as the lines have it, once somebody was kept out for a while; else "".
  std::string LastingCause() const;

 private:
  struct Worker {
    Clock::SteadyTime since{};               // of the phase
    std::optional<Clock::SteadyTime> tried;  // since when; not while it waits for its turn
  };
  struct Sample {
    Clock::SteadyTime when;
    std::size_t done;
  };

  std::string Counts() const;
  std::string Cause() const;
  std::optional<std::size_t> KeptOut() const;  // the first who was for a while
  std::size_t done() const { return tally_.ok() + tally_.failed(); }
  std::string Pace();
  std::string Amount() const { return amount_ ? "; " + amount_() : ""; }
  std::string SlowestLine(Clock::SteadyTime now) const;
  std::string FailedLine() const;

  const std::string pod_;
  const std::vector<int> workers_;
  const int per_slice_;
  Clock& clock_;
  const Clock::SteadyTime began_;
  std::vector<Worker> states_;
  ssh::Tally tally_;
  std::function<std::string()> amount_;
  std::string doing_;
  bool ending_ = false;
  Clock::SteadyTime last_done_{};
  std::map<std::string, std::vector<int>> causes_;
  std::deque<Sample> samples_;  // of the last seconds
};

// ---- What is said when a command has ended on all workers: who failed and why, in few lines
// however many they are, and the exit code that tells the truth.

// The workers that were not ok: failed ones by cause, the most frequent first; then lost ones,
// which may have run the command; then those it was never started on. Empty when there is nothing
// to say: all ok, or the one worker ran its command to its end, which has said it all (where its
// output was `shown`). `retry`: what to type to run it again on just those; may be empty.
std::string ExecSummary(const ExecOutcome& outcome, const std::string& retry, bool shown = true);

// The same for a tool: the event "summary".
Value ExecSummaryEvent(const ExecOutcome& outcome, int exit_code, std::chrono::milliseconds elapsed,
                       CauseWords words = ssh::CauseOf);

// The command's own code when it ended with the same on all workers, 255 like any other; 130 when
// interrupted; else 1.
int ExecExitCode(const ExecOutcome& outcome);

}  // namespace podctl
