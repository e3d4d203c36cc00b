// What a command on many workers shows while it runs: its output line by line, each with its
// worker's name, or as events for tools; and on a terminal the progress below it.
//
// Lines are written together, up to 20 times a second, so that a flood of them costs no system call
// each. A full pipe makes the caller wait, and through it the workers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/output_filter.h"
#include "cmd/views/exec_progress.h"
#include "cmd/views/live_block.h"
#include "plans/fleet/exec/exec.h"
#include "plans/fleet/worker_round.h"
#include "providers/base/value.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"

namespace podctl {

// Between who runs commands on workers and what a user sees of it. Where lines and the live block
// meet on one terminal.
//
// Tick comes from a thread of its own, everything else from the one that runs the commands.

class ExecDisplay final : public ExecWatcher {
 public:
  struct Settings {
    bool lines = true;  // the output is shown; else somebody else takes it
    // "1.2 GiB of 3.0 GiB", for the progress; may be empty. Called on the ticker's thread.
    std::function<std::string()> amount;
    // After `drain` the screen says so, and shows for two more seconds what the workers still say;
    // after `leave` nothing.
    StopTokens stops;
    // Before each line, of its arrival here; and of what podctl itself says, of when it does.
    bool timestamps = false;
    std::optional<std::set<int>> only = {};  // lines of these workers alone; nullopt: of all
  };

  // `streams` and `clock` are lent.
  ExecDisplay(Streams& streams, Clock& clock, Settings settings)
      : streams_(streams), clock_(clock), settings_(std::move(settings)), block_(streams) {}
  ~ExecDisplay() override { Finish(); }
  ExecDisplay(const ExecDisplay&) = delete;
  ExecDisplay& operator=(const ExecDisplay&) = delete;

  void OnBegin(const std::vector<ssh::Job>& jobs, std::stop_source& unheard) override;
  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override;
  void OnPhase(std::size_t job, ssh::Phase phase) override;
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override;
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override;

  void Tick() override;
  void OnEnd() override;
  // A job has ended, in place of OnResult: `cause` as the summary words it; empty: it is ok.
  void OnOver(std::size_t job, const std::string& cause);
  // A line that was for podctl itself: nobody misses it on the screen.
  void CountAsShown(std::size_t job, std::string_view line);
  // What the commands that run now are there for, in the progress: "copying src".
  void NameDoing(const std::string& doing);
  // The last lines that a job wrote on standard error, where `only` leaves it out. When all is
  // over.
  std::vector<std::string> LastUnseen(std::size_t job) const;
  // Something about all of the workers: `line` for people, `event` for tools.
  void Tell(const std::string& line, const Value& event);
  // Lines of podctl's own as people see them: each with the time, where that is wanted.
  std::string Stamped(const std::string& lines) const;

 private:
  bool LeavesOut();
  bool Shows(std::size_t job) const;
  void KeepUnseen(std::size_t job, ssh::Stream stream, std::string_view line);
  void TellInterrupt();
  void TellLeftOut();
  void CheckHeard();
  // Lines without their newlines, which are written together.
  void Out(std::string_view line) { Add(&streams_.out, line); }
  void Err(std::string_view line) { Add(&streams_.err, line); }
  void Add(std::ostream* stream, std::string_view line);
  void Write();
  void ShowProgress();
  void Finish();  // the last of the lines; the progress is gone

  Streams& streams_;
  Clock& clock_;
  const Settings settings_;
  // Of the commands that run:
  const std::vector<ssh::Job>* jobs_ = nullptr;
  std::stop_source* unheard_ = nullptr;
  std::mutex mutex_;  // of what follows
  std::optional<ExecProgress> progress_;
  bool shows_progress_ = false;
  std::vector<std::string> out_prefixes_;  // of each job: "research/3 | ", all in one column
  std::vector<std::string> err_prefixes_;
  std::ostream* target_ = nullptr;  // of what waits
  std::string waiting_;
  LiveBlock block_;
  Clock::SteadyTime began_{};
  Clock::SteadyTime drawn_at_{};
  Clock::SteadyTime reported_at_{};
  std::set<std::string> reported_causes_;                  // in a log
  ssh::Cause why_again_;                                   // of the worker that was told of last
  std::optional<Clock::SteadyTime> interrupted_at_;        // when it was noticed
  std::map<std::size_t, std::deque<std::string>> unseen_;  // by job: the last of them
  // Of the workers whose lines are shown:
  std::uint64_t received_ = 0;  // bytes of output, of jobs that have ended
  std::uint64_t shown_ = 0;     // bytes that were received and are shown
};

}  // namespace podctl
