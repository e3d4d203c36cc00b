#include "cmd/commands/run/supervise.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cmd/commands/failure.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_rounds.h"
#include "cmd/commands/run/attempt.h"
#include "cmd/commands/run/prepare.h"
#include "cmd/commands/run/run_summary.h"
#include "plans/jobs/command_text.h"
#include "plans/jobs/restart.h"
#include "plans/node_view.h"
#include "plans/refresh.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

// How long a pod is waited for that is in trouble, and one that somebody has to make anew, for
// which there must be capacity first.
constexpr std::chrono::minutes kLongestTrouble{20};
constexpr std::chrono::hours kLongestAbsence{24};
constexpr std::chrono::seconds kAskPace{10};
constexpr std::chrono::seconds kShortRun{60};
constexpr int kMostBackoff = 60;  // seconds

workers::Run RunOf(Wiring& wiring, const JobSpec& job, const RunOptions& options) {
  std::vector<std::string> words = job.command;
  for (std::string& word : FlagWords(job)) words.push_back(std::move(word));
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  workers::Run run;
  run.job = job.name;
  run.id = wiring.random().Uuid().substr(0, 8);
  run.owner = UserName() + "@" + HostName();
  run.shown = VisibleControls(Join(words, " "));
  run.grace = job.grace;
  run.container = ContainerOf(job);
  return run;
}

class JobRun {
 public:
  JobRun(Wiring& wiring, const Spec& spec, const JobSpec& job, const RunOptions& options)
      : wiring_(wiring),
        spec_(spec),
        job_(job),
        options_(options),
        run_(RunOf(wiring, job, options)) {}

  int Run();

 private:
  bool Begin();  // one start; false (told why) when it did not come to that
  AttemptPlan PlanOf(const ReadyLaunch& ready) const;
  std::optional<Value> LookAtNode(bool* gone, const std::stop_token& stop);
  JobVerdict Judge();
  bool GoesOn(const JobVerdict& verdict);
  bool WaitForPod(const JobVerdict& verdict);
  bool IsThere();
  int Finish(const JobVerdict* verdict);
  void Tell(const std::string& text, Value event);

  Wiring& wiring_;
  const Spec& spec_;
  const JobSpec& job_;
  const RunOptions& options_;
  const workers::Run run_;  // the same one for all starts
  std::optional<ReadyLaunch> ready_;
  AttemptResult result_;
  std::string synced_uid_;  // of the node that has the job's files
  int restarts_ = 0;
  int quick_ends_ = 0;  // in a row
  bool was_started_ = false;
};

Value Event(const std::string& type, const JobSpec& job) {
  Value event = Value::EmptyMap();
  event.Set("format_version", "1.0");
  event.Set("type", type);
  event.Set("job", job.name);
  event.Set("pod", job.pod);
  return event;
}

void JobRun::Tell(const std::string& text, Value event) {
  if (wiring_.options().json) {
    event.Set("message", text);
    wiring_.streams().out << ToJson(event) << '\n' << std::flush;
  } else {
    wiring_.streams().err << text << '\n' << std::flush;
  }
}

AttemptPlan JobRun::PlanOf(const ReadyLaunch& ready) const {
  AttemptPlan plan;
  plan.run = run_;
  plan.workers = ready.workers;
  for (const WorkerLaunch& worker : ready.launch.workers) plan.texts.push_back(WorkerText(worker));
  plan.setup = FilesText(job_, ready.launch);
  plan.together = job_.launcher != Launcher::kShell;
  if (job_.launcher == Launcher::kXlaDist) plan.heartbeat = Heartbeat::LimitsOf(job_.env);
  return plan;
}

bool JobRun::Begin() {
  auto ready = PrepareLaunch(wiring_, spec_, job_, options_, restarts_ + 1, run_.id);
  if (!ready) {
    ShowError(wiring_, nullptr, "", ready.error());
    return false;
  }
  ready_ = *std::move(ready);
  const auto most = wiring_.ssh().MostAtOnce(ready_->workers);
  if (ready_->workers.size() > most) {
    ShowError(
        wiring_, nullptr, "",
        MakeError(ErrorCode::kResourceExhausted,
                  TooFewAtOnce(ready_->workers, most) + ", and a job's workers begin together",
                  "`podctl run --detach` starts them in turn."));
    return false;
  }
  if (options_.drain && !DrainForJob(wiring_, *ready_, job_, options_, run_.id)) return false;
  const bool fresh = synced_uid_.empty() || synced_uid_ != ready_->record.uid;
  if (options_.sync && fresh && !SyncForJob(wiring_, ready_->target, ready_->workers, job_)) {
    return false;
  }
  synced_uid_ = ready_->record.uid.empty() ? "?" : ready_->record.uid;
  AttemptPlan plan = PlanOf(*ready_);
  const auto& on = job_.restart.on;
  const bool looks =
      on.contains(RestartReason::kMaintenance) || on.contains(RestartReason::kPreemption);
  if (looks && restarts_ < job_.restart.attempts) {
    plan.look = [this](const std::stop_token& stop) -> std::optional<JobVerdict> {
      bool gone = false;
      const auto node = LookAtNode(&gone, stop);
      auto verdict = gone   ? JobVerdict{RestartReason::kPreemption, "the node is gone"}
                     : node ? JudgeNode(NodeState(*node), NodeHealth(*node))
                            : std::optional<JobVerdict>();
      const bool counts = verdict && job_.restart.on.contains(verdict->reason);
      return counts ? verdict : std::nullopt;
    };
  }
  result_ = RunAttempt(wiring_, ready_->target.address, plan);
  was_started_ = was_started_ || result_.started;
  return true;
}

// What the service says of the node; nullopt: nothing.
std::optional<Value> JobRun::LookAtNode(bool* gone, const std::stop_token& stop) {
  auto provider = wiring_.provider();
  if (!provider) return std::nullopt;
  Provider& speaking = (*provider)->Speaking(ready_->record.api_version);
  auto node = speaking.GetNode(NameOf(ready_->record), stop);
  if (node) return *std::move(node);
  *gone = node.error().code == ErrorCode::kNotFound;
  return std::nullopt;
}

JobVerdict JobRun::Judge() {
  if (result_.told) return *result_.told;
  JobEnd end = EndOf(result_);
  if (const auto node = LookAtNode(&end.node_gone, wiring_.interrupt().drain())) {
    end.node_state = NodeState(*node);
    end.node_health = NodeHealth(*node);
  }
  return JudgeEnd(end);
}

// Whether the job is to be started once more; tells so, and waits until it can be.
bool JobRun::GoesOn(const JobVerdict& verdict) {
  // What somebody has ended on purpose stays ended.
  const bool wanted =
      job_.restart.on.contains(verdict.reason) && was_started_ && result_.ended_by.empty();
  if (!wanted || restarts_ >= job_.restart.attempts) return false;
  ++restarts_;
  if (!wiring_.options().json) wiring_.streams().err << RunSummary(result_);
  Value event = Event("restart", job_);
  event.Set("restart", restarts_);
  event.Set("of", job_.restart.attempts);
  event.Set("reason", RestartReasonName(verdict.reason));
  Tell(fmt::format("Restart {} of {}, on {}: {}.", restarts_, job_.restart.attempts,
                   RestartReasonName(verdict.reason), verdict.because),
       std::move(event));
  quick_ends_ = result_.elapsed < kShortRun ? quick_ends_ + 1 : 0;
  const int pause = std::min(1 << std::min(std::max(quick_ends_ - 1, 0), 6), kMostBackoff);
  if (!wiring_.clock().SleepFor(std::chrono::seconds(pause), wiring_.interrupt().drain())) {
    return false;
  }
  return WaitForPod(verdict);
}

// The node is READY, the state knows it as it is, and each of the workers answers.
bool JobRun::IsThere() {
  auto record = FindRecord(wiring_, job_.pod);
  if (!record) return false;
  ready_->record = *std::move(record);
  bool gone = false;
  const auto node = LookAtNode(&gone, wiring_.interrupt().drain());
  if (!node || NodeState(*node) != "READY" || JudgeNode("READY", NodeHealth(*node))) return false;
  if (!ready_->record.uid.empty() && NodeUid(*node) != ready_->record.uid) return false;
  auto ready = PrepareLaunch(wiring_, spec_, job_, options_, restarts_ + 1, run_.id);
  if (!ready) return false;
  PodRounds rounds(wiring_, ready->target.address);
  return AllAnswered(rounds->Ask(ready->workers, "true"));
}

bool JobRun::WaitForPod(const JobVerdict& verdict) {
  const bool absent = verdict.reason == RestartReason::kPreemption;
  const std::chrono::seconds patience =
      absent ? std::chrono::seconds(kLongestAbsence) : std::chrono::seconds(kLongestTrouble);
  const auto began = wiring_.clock().Steady();
  bool told = false;
  while (!IsThere()) {
    if (wiring_.interrupt().requested()) return false;
    if (wiring_.clock().Steady() - began > patience) {
      ShowError(wiring_, nullptr, "",
                MakeError(ErrorCode::kDeadlineExceeded,
                          fmt::format("pod.{} did not come back within {}", job_.pod,
                                      FormatDuration(patience)),
                          "`podctl doctor` and `podctl plan` say what is wrong with it."));
      return false;
    }
    if (!std::exchange(told, true)) {
      Tell(absent
               ? fmt::format("Waiting until pod.{} is there again; `podctl apply` makes it anew.",
                             job_.pod)
               : fmt::format("Waiting until the workers of pod.{} answer.", job_.pod),
           Event("waiting", job_));
    }
    if (!wiring_.clock().SleepFor(kAskPace, wiring_.interrupt().drain())) return false;
  }
  return true;
}

int JobRun::Finish(const JobVerdict* verdict) {
  const int code = RunExitCode(result_);
  Streams& streams = wiring_.streams();
  if (wiring_.options().json) {
    streams.out << ToJson(RunSummaryEvent(result_, code, restarts_)) << '\n' << std::flush;
    return code;
  }
  // main() says why, where anybody can be told.
  if (!streams.out && !result_.outcome.interrupted) return 1;
  streams.err << RunSummary(result_);
  if (code == 0) {
    streams.err << fmt::format("Job {} ended well on {}, after {}.\n", job_.name,
                               Plural(result_.outcome.jobs.size(), "worker"),
                               FormatDuration(result_.elapsed));
  } else if (verdict != nullptr) {
    const bool of_node = verdict->reason == RestartReason::kMaintenance ||
                         verdict->reason == RestartReason::kPreemption;
    if (of_node && !result_.told) streams.err << fmt::format("By now {}.\n", verdict->because);
    if (restarts_ > 0 && restarts_ >= job_.restart.attempts) {
      streams.err << fmt::format("It was started again {} before; that was the last time.\n",
                                 restarts_ == 1 ? "once" : fmt::format("{} times", restarts_));
    }
  }
  return code;
}

int JobRun::Run() {
  while (true) {
    if (!Begin()) {
      if (!wiring_.interrupt().requested()) return FailedExitCode(wiring_);
      Tell(restarts_ == 0 ? "Interrupted: nothing was started."
                          : "Interrupted: it was not started again.",
           Event("interrupted", job_));
      return kInterruptedExitCode;
    }
    if (result_.outcome.interrupted || RunExitCode(result_) == 0) return Finish(nullptr);
    // Nobody hears of it any more.
    if (!wiring_.streams().out) return 1;
    const JobVerdict verdict = Judge();
    if (GoesOn(verdict)) continue;
    if (wiring_.interrupt().requested()) {
      result_.outcome.interrupted = true;
      Tell("Interrupted: it was not started again.", Event("interrupted", job_));
      return kInterruptedExitCode;
    }
    return Finish(&verdict);
  }
}

}  // namespace

Result<ReadyLaunch> PrepareLaunch(Wiring& wiring, const Spec& spec, const JobSpec& job,
                                  const RunOptions& options, int attempt, const std::string& run) {
  const auto pod_spec = std::find_if(spec.pods.begin(), spec.pods.end(),
                                     [&](const PodSpec& each) { return each.name == job.pod; });
  PODCTL_CHECK(pod_spec != spec.pods.end());
  auto record = FindRecord(wiring, job.pod);
  if (!record) return record.error();
  auto target = FindPod(wiring, job.pod);
  if (!target) return target.error();
  const auto pod = LaunchPodOf(*pod_spec, &*record);
  PODCTL_CHECK(pod.has_value());  // FindPod has found its workers
  auto launch = MakeLaunch(job, *pod, {options.arguments, options.workers, attempt, run});
  if (!launch) return launch.error();
  ReadyLaunch ready{*std::move(target), *std::move(record), *std::move(launch), {}};
  for (const WorkerLaunch& worker : ready.launch.workers) {
    ready.workers.push_back(ready.target.workers[static_cast<std::size_t>(worker.worker)]);
  }
  return ready;
}

int SuperviseJob(Wiring& wiring, const Spec& spec, const JobSpec& job, const RunOptions& options) {
  return JobRun(wiring, spec, job, options).Run();
}

}  // namespace podctl
