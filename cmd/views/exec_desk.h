// Between who runs commands on workers and what a user sees of it: lines or events, and progress.
//
// Tick comes from a thread of its own, everything else from the one that runs the commands.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/streams.h"
#include "cmd/views/exec_output.h"
#include "cmd/views/exec_progress.h"
#include "plans/fleet/exec/watcher.h"
#include "plans/fleet/stops.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"

namespace podctl {

class ExecDesk final : public ExecWatcher {
 public:
  struct Wishes {
    bool lines = true;  // the output is shown; else somebody else takes it
    // "1.2 GiB of 3.0 GiB", for the progress; may be empty. Called on the ticker's thread.
    std::function<std::string()> amount;
    // After `drain` the screen says so, and shows for two more seconds what the workers still say;
    // after `leave` nothing.
    Stops stops;
  };

  // `streams` and `clock` are lent.
  ExecDesk(Streams& streams, Clock& clock, Wishes wishes)
      : streams_(streams), clock_(clock), wishes_(std::move(wishes)) {}

  void OnBegin(const std::vector<ssh::Job>& jobs, std::stop_source& unheard) override;
  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override;
  void OnPhase(std::size_t job, ssh::Phase phase) override;
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override;
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override;

  void Tick() override;
  void OnEnd() override;
  // A line that was for podctl itself: nobody misses it on the screen.
  void CountAsShown(std::string_view line);
  // Something about all of the workers: `line` for people, `event` for tools.
  void Tell(const std::string& line, const Value& event);

 private:
  bool LeavesOut();
  void TellInterrupt();
  void TellLeftOut();
  void Show(const Value& event);
  void CheckHeard();

  Streams& streams_;
  Clock& clock_;
  const Wishes wishes_;
  // Of the commands that run:
  const std::vector<ssh::Job>* jobs_ = nullptr;
  std::stop_source* unheard_ = nullptr;
  std::mutex mutex_;  // of what follows
  std::optional<ExecProgress> progress_;
  std::optional<ExecConsole> console_;
  std::optional<PrefixedLines> lines_;
  std::optional<Clock::SteadyTime> interrupted_at_;  // when it was noticed
  std::uint64_t received_ = 0;                       // bytes of output, of jobs that have ended
  std::uint64_t shown_ = 0;                          // bytes that were received and are shown
};

}  // namespace podctl
