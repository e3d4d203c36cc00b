// Between the transport, which tells what happens on the workers, and what a user gets of it: lines
// or events, progress, files, and the record of the run.
//
// Tick comes from a thread of its own, everything else from the one that runs the commands.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/streams.h"
#include "cmd/views/exec_output.h"
#include "cmd/views/exec_progress.h"
#include "plans/fleet/exec/output_sink.h"
#include "plans/fleet/exec/record.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"

namespace podctl {

class ExecDesk final : public ssh::Observer {
 public:
  struct Wishes {
    bool json = false;
    OutputSink* sink = nullptr;  // takes the output; null: it is shown. Lent.
    // Adds to a worker's entry of the record; may be empty.
    std::function<void(std::size_t job, WorkerEntry& entry)> complete;
    // Keeps the record as it is now: every few seconds, and at the end.
    std::function<void()> keep;
    // "1.2 GiB of 3.0 GiB", for the progress; may be empty. Called on the ticker's thread.
    std::function<std::string()> amount;
    // The user asked to end: the screen says so, and shows for two more seconds what the workers
    // still say.
    std::stop_token interrupted;
    std::stop_token left;  // and once more: nothing is shown any more
  };

  // `streams`, `jobs`, `record` and `clock` are lent. `unheard` is asked to stop when nobody reads
  // standard output any more: `podctl exec POD -- yes | head -1` ends as `ssh HOST yes | head -1`
  // does.
  ExecDesk(Streams& streams, const std::vector<ssh::Job>& jobs, ExecRecord& record, Clock& clock,
           Wishes wishes, std::stop_source& unheard);

  bool TakesBytes() const override { return wishes_.sink != nullptr; }
  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override;
  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override;
  void OnPhase(std::size_t job, ssh::Phase phase) override;
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override;
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override;

  void Tick();
  // A line that was for podctl itself: nobody misses it on the screen.
  void CountAsShown(std::string_view line);
  // Something about all of the workers: `line` for people, `event` for tools.
  void Tell(const std::string& line, const Value& event);
  // Everything was told: writes what waits, and keeps the record.
  void Finish();

 private:
  bool LeavesOut();
  void TellInterrupt();
  void TellLeftOut();
  void Show(const Value& event);
  void Keep();
  void CheckHeard();

  const std::vector<ssh::Job>& jobs_;
  ExecRecord& record_;
  Clock& clock_;
  const Wishes wishes_;
  std::stop_source& unheard_;
  std::mutex mutex_;  // of what follows
  ExecProgress progress_;
  ExecConsole console_;
  PrefixedLines lines_;
  Clock::SteadyTime kept_at_;
  bool changed_ = false;                             // since then
  std::optional<Clock::SteadyTime> interrupted_at_;  // when it was noticed
  std::uint64_t received_ = 0;                       // bytes of output, of jobs that have ended
  std::uint64_t shown_ = 0;                          // bytes that were received and are shown
};

}  // namespace podctl
