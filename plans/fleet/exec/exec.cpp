#include "plans/fleet/exec/exec.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "plans/fleet/worker_round.h"

namespace podctl {
namespace {

constexpr std::chrono::seconds kKeepPace{5};

ssh::Limits LimitsOf(const ExecOptions& exec, std::size_t workers) {
  ssh::Limits limits;
  limits.command = exec.timeout;
  if (exec.batch) {
    limits.max_open = std::max(1, exec.batch->Of(workers));
    limits.max_failures = 0;
  }
  if (exec.max_failures) limits.max_failures = exec.max_failures->Of(workers);
  if (exec.fail_fast) limits.max_failures = 0;
  return limits;
}

}  // namespace

ExecRun::ExecRun(FileSystem& files, Clock& clock, LastRun& last, const ExecOptions& exec,
                 PodTarget target, ExecChoice choice, ExecVariables variables, StandardInput* input,
                 std::string scratch)
    : files_(files),
      clock_(clock),
      last_(last),
      exec_(exec),
      target_(std::move(target)),
      choice_(std::move(choice)),
      variables_(std::move(variables)),
      input_(input),
      scratch_(std::move(scratch)) {
  const std::string command =
      CommandWithVariables(RemoteCommand(choice_.command, target_.exec_env), variables_);
  const std::string line = VariablesLine(variables_);
  const auto first_line = line.empty() ? nullptr : std::make_shared<const std::string>(line);
  for (const WorkerAccess& worker : choice_.workers) {
    outcome_.jobs.push_back({worker, ExportLine(worker.env) + command, first_line, input_});
  }
  record_ = choice_.earlier.value_or(ExecRecord{});
  if (!choice_.earlier) {
    record_.pod = target_.address;
    record_.command = choice_.command;
    for (const ssh::Job& job : outcome_.jobs) record_.workers.push_back(job.worker.index);
  }
  record_.env.clear();
  for (const auto& [name, value] : variables_) record_.env.push_back(name);
  record_.ended.clear();
  for (const ssh::Job& job : outcome_.jobs) record_.results.erase(job.worker.index);
}

Result<void> ExecRun::Prepare() {
  record_.started = FormatTimestamp(clock_.Now());
  auto kept = KeptOutputs::Open(
      outcome_.jobs, files_,
      {exec_.gather || exec_.diff, choice_.output_dir, exec_.overwrite || choice_.into_earlier},
      scratch_);
  if (!kept) return kept.error();
  kept_ = *std::move(kept);
  Keep();
  if (folder() != nullptr && folder()->trouble()) return *folder()->trouble();
  return {};
}

void ExecRun::Keep() {
  record_.input = input_ != nullptr && !input_->empty();
  if (kept_.folder() != nullptr) kept_.folder()->Save(record_);
  last_.Save(record_);
}

void ExecRun::Run(ssh::Transport& transport, ExecWatcher& watcher, const StopTokens& stops) {
  const auto began = clock_.Steady();
  auto kept_at = began;
  bool changed = false;  // since then
  CommandRequest request;
  request.limits = LimitsOf(exec_, outcome_.jobs.size());
  request.grace = kEndingGrace;
  request.sink = kept_.sink();
  request.on_result = [&](std::size_t job, const ssh::WorkerResult& result) {
    WorkerEntry& entry = record_.results[outcome_.jobs[job].worker.index];
    entry = EntryOf(result);
    if (folder() != nullptr) folder()->Name(job, entry);
    changed = true;
  };
  request.on_tick = [&] {
    if (!changed || clock_.Steady() - kept_at < kKeepPace) return;
    Keep();
    kept_at = clock_.Steady();
    changed = false;
  };
  std::stop_source stop;
  RunCommands(transport, clock_, &outcome_, request, watcher, stop, stops);
  record_.ended = FormatTimestamp(clock_.Now());
  Keep();
  elapsed_ = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Steady() - began);
}

namespace {

constexpr std::chrono::milliseconds kCommandTick{50};
// For a worker that is READY but does not answer yet; somebody is watching, so not for minutes.
constexpr std::chrono::seconds kCommandPatience{20};

class CommandListener final : public ssh::Observer {
 public:
  CommandListener(const CommandRequest& request, ExecWatcher& watcher)
      : request_(request), watcher_(watcher) {}

  bool TakesBytes() const override { return request_.sink != nullptr; }
  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    request_.sink->OnBytes(job, stream, bytes);
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
      if (request_.sink != nullptr) request_.sink->OnEnd(job, result);
      if (request_.on_result) request_.on_result(job, result);
    }
    watcher_.OnResult(job, result);
  }
  void Tick() {
    watcher_.Tick();
    const std::lock_guard lock(mutex_);
    if (request_.on_tick) request_.on_tick();
  }

 private:
  const CommandRequest& request_;
  ExecWatcher& watcher_;
  std::mutex mutex_;  // of what the sink and the callbacks hold
};

}  // namespace

void RunCommands(ssh::Transport& transport, Clock& clock, ExecOutcome* outcome,
                 const CommandRequest& request, ExecWatcher& watcher, std::stop_source& stop,
                 const StopTokens& stops) {
  const std::stop_callback on_drain(stops.drain, [&stop] { stop.request_stop(); });
  watcher.OnBegin(outcome->jobs, stop);
  CommandListener listener(request, watcher);
  TerminationLimit termination(stops.leave, clock);
  {
    const std::jthread ticker([&](const std::stop_token& end) {
      while (clock.SleepFor(kCommandTick, end)) {
        listener.Tick();
        termination.Tick(stop.stop_requested());
      }
    });
    ssh::Limits limits = request.limits;
    limits.retry = kCommandPatience;
    limits.abandon = stops.leave;
    if (request.grace) termination.SetOn(limits, *request.grace);
    outcome->results = transport.Run(outcome->jobs, limits, listener, stop.get_token());
  }
  watcher.OnEnd();
  outcome->interrupted = stops.drain.stop_requested();
}

}  // namespace podctl
