#include "plans/fleet/exec/commands.h"

#include <mutex>
#include <thread>

#include "plans/fleet/worker_round.h"

namespace podctl {
namespace {

constexpr std::chrono::milliseconds kCommandTick{50};
// For a worker that is READY but does not answer yet; somebody is watching, so not for minutes.
constexpr std::chrono::seconds kCommandPatience{20};

class CommandListener final : public ssh::Observer {
 public:
  CommandListener(const CommandWishes& wishes, ExecWatcher& watcher)
      : wishes_(wishes), watcher_(watcher) {}

  bool TakesBytes() const override { return wishes_.sink != nullptr; }
  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    wishes_.sink->OnBytes(job, stream, bytes);
  }
  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    watcher_.OnLine(job, stream, line);
  }
  void OnPhase(std::size_t job, ssh::Phase phase) override { watcher_.OnPhase(job, phase); }
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override {
    watcher_.OnTryAgain(job, why);
  }
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    {
      const std::lock_guard lock(mutex_);
      if (wishes_.sink != nullptr) wishes_.sink->OnEnd(job, result);
      if (wishes_.on_result) wishes_.on_result(job, result);
    }
    watcher_.OnResult(job, result);
  }
  void Tick() {
    watcher_.Tick();
    const std::lock_guard lock(mutex_);
    if (wishes_.on_tick) wishes_.on_tick();
  }

 private:
  const CommandWishes& wishes_;
  ExecWatcher& watcher_;
  std::mutex mutex_;  // of what the sink and the callbacks hold
};

}  // namespace

void RunCommands(ssh::Transport& transport, Clock& clock, ExecOutcome* outcome,
                 const CommandWishes& wishes, ExecWatcher& watcher, std::stop_source& stop,
                 const Stops& stops) {
  const std::stop_callback on_drain(stops.drain, [&stop] { stop.request_stop(); });
  watcher.OnBegin(outcome->jobs, stop);
  CommandListener listener(wishes, watcher);
  FarewellLimit farewell(stops.leave, clock);
  {
    const std::jthread ticker([&](const std::stop_token& end) {
      while (clock.SleepFor(kCommandTick, end)) {
        listener.Tick();
        farewell.Tick(stop.stop_requested());
      }
    });
    ssh::Limits limits = wishes.limits;
    limits.retry = kCommandPatience;
    limits.abandon = stops.leave;
    if (wishes.grace) farewell.SetOn(limits, *wishes.grace);
    outcome->results = transport.Run(outcome->jobs, limits, listener, stop.get_token());
  }
  watcher.OnEnd();
  outcome->interrupted = stops.drain.stop_requested();
}

}  // namespace podctl
