#include "plans/fleet/run/supervise.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "plans/jobs/command_text.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/certificate.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// How long a pod is waited for that is in trouble, and one that somebody has to make anew, for
// which there must be capacity first.
constexpr std::chrono::minutes kLongestTrouble{20};
constexpr std::chrono::hours kLongestAbsence{24};
constexpr std::chrono::seconds kAskPace{10};
constexpr std::chrono::seconds kShortRun{60};

class JobRun {
 public:
  JobRun(const JobDoors& doors, const Spec& spec, const JobSpec& job, const workers::Run& run,
         const RunRequest& request, JobWatcher& watcher, const StopTokens& stops)
      : doors_(doors),
        spec_(spec),
        job_(job),
        run_(run),
        request_(request),
        watcher_(watcher),
        stops_(stops) {}

  RunReport Run() {
    while (true) {
      if (!Begin()) {
        if (AwaitsMaintenance()) continue;
        return End(interrupted() ? RunReport::End::kInterrupted : RunReport::End::kNotBegun);
      }
      if (result_.outcome.interrupted || EndedWell(result_)) return End(RunReport::End::kEnded);
      if (!watcher_.IsHeard()) return End(RunReport::End::kUnheard);
      const JobVerdict verdict = Judge();
      if (GoesOn(verdict)) continue;
      if (interrupted()) return End(RunReport::End::kInterrupted);
      return End(RunReport::End::kEnded, verdict);
    }
  }

 private:
  // One start; false when it did not come to that.
  bool Begin() {
    if (!MakeReady()) return false;
    AttemptPlan plan = PlanOf(*ready_);
    auto gang = MakeGang(*ready_);
    if (!gang) return Refuse(gang.error());
    plan.gang = *std::move(gang);
    const auto& on = job_.restart.on;
    const bool looks =
        on.contains(RestartReason::kMaintenance) || on.contains(RestartReason::kPreemption);
    if (looks && restarts_ < job_.restart.attempts) {
      plan.look = [this](const std::stop_token& stop) { return WhyEnd(stop); };
    }
    result_ = RunAttempt(doors_.transport, doors_.clock, plan, watcher_, stops_);
    doors_.rounds.Remember(LearnedKeys(result_.outcome));
    begun_ = true;
    was_started_ = was_started_ || result_.started;
    return true;
  }

  bool MakeReady() {
    auto ready = Prepare();
    if (!ready) return Refuse(ready.error());
    ready_ = *std::move(ready);
    const auto most = doors_.transport.MostAtOnce(ready_->workers);
    if (ready_->workers.size() > most) {
      return Refuse(
          MakeError(ErrorCode::kResourceExhausted,
                    TooFewAtOnce(ready_->workers, most) + ", and a job's workers begin together",
                    "`podctl run --detach` starts them in turn."));
    }
    const auto tell = [this](const PrepareEvent& news) { watcher_.OnPrepareEvent(news); };
    if (request_.drain) {
      const DrainRequest drain{request_.drain_jobs, false, run_.id, request_.owner};
      if (Blocked(DrainForJob(doors_.rounds, *ready_, job_, drain, tell))) return false;
    }
    const bool fresh = synced_uid_.empty() || synced_uid_ != ready_->record.uid();
    if (request_.sync && fresh &&
        Blocked(SyncForJob(doors_.rounds, {doors_.files, *spec_.withheld}, ready_->workers, job_,
                           tell))) {
      return false;
    }
    synced_uid_ = ready_->record.uid().empty() ? "?" : ready_->record.uid();
    return true;
  }
  bool Blocked(std::optional<Blocker> why) {
    blocker_ = std::move(why);
    return blocker_.has_value();
  }
  bool Refuse(Error error) { return !Blocked(Blocker{std::move(error), {}}); }
  Result<ReadyLaunch> Prepare() {
    return PrepareLaunch(doors_.pod, spec_, job_,
                         {request_.arguments, request_.workers, restarts_ + 1, run_.id});
  }

  AttemptPlan PlanOf(const ReadyLaunch& ready) const {
    AttemptPlan plan;
    plan.run = run_;
    plan.workers = ready.workers;
    for (const WorkerLaunch& worker : ready.launch.workers)
      plan.texts.push_back(WorkerText(worker));
    plan.setup = FilesText(job_, ready.launch);
    if (job_.launcher == Launcher::kXlaDist) plan.heartbeat = Heartbeat::LimitsOf(job_.env);
    plan.hang = job_.restart.hang;
    return plan;
  }

  // Of this start alone: what begins it again, or sees that it hangs, is here.
  Result<std::shared_ptr<const workers::Gang>> MakeGang(const ReadyLaunch& ready) const {
    auto gang = GangOfJob(ready, job_);
    if (!gang) return std::shared_ptr<const workers::Gang>();
    Result<std::string> certificate = MakeCertificate();
    if (!certificate) return certificate.error();
    gang->certificate = *std::move(certificate);
    gang->first = restarts_ + 1;
    gang->on.clear();
    gang->hang = std::chrono::seconds(0);
    gang->logs.reset();
    return std::make_shared<const workers::Gang>(*std::move(gang));
  }

  // What the service says of the node; nullopt: nothing.
  std::optional<Value> LookAtNode(bool* gone, const std::stop_token& stop) {
    if (doors_.provider == nullptr) return std::nullopt;
    Provider& provider = doors_.provider->InVersion(ready_->record.api_version);
    auto node = provider.GetNode(NameOf(ready_->record), stop);
    if (node) return *std::move(node);
    *gone = node.error().code == ErrorCode::kNotFound;
    return std::nullopt;
  }

  // While the job runs: a trouble of the node for which it is started again.
  std::optional<JobVerdict> WhyEnd(const std::stop_token& stop) {
    bool gone = false;
    const auto node = LookAtNode(&gone, stop);
    auto verdict = gone   ? NodeIsGone()
                   : node ? JudgeNode(NodeState(*node), NodeHealth(*node))
                          : std::optional<JobVerdict>();
    const bool counts = verdict && job_.restart.on.contains(verdict->reason);
    return counts ? verdict : std::nullopt;
  }

  JobVerdict Judge() {
    if (result_.reported) return *result_.reported;
    JobEnd end = EndOf(result_);
    if (const auto node = LookAtNode(&end.node_gone, stops_.drain)) {
      end.node_state = NodeState(*node);
      end.node_health = NodeHealth(*node);
    }
    return JudgeEnd(end);
  }

  // Whether the job is to be started once more; tells so, and waits until it can be.
  bool GoesOn(const JobVerdict& verdict) {
    // What somebody has ended on purpose stays ended. What never came to a start has a fault of its
    // own, unless its node has.
    const bool may = was_started_ || verdict.reason == RestartReason::kMaintenance;
    const bool wanted = job_.restart.on.contains(verdict.reason) && may && result_.ended_by.empty();
    if (!wanted || restarts_ >= job_.restart.attempts) return false;
    ++restarts_;
    watcher_.OnRestart(result_, restarts_, verdict);
    quick_ends_ = result_.elapsed < kShortRun ? quick_ends_ + 1 : 0;
    if (!doors_.clock.SleepFor(job_.restart.PauseAfter(quick_ends_), stops_.drain)) return false;
    return WaitForPod(verdict);
  }

  // Whether workers were silent for a trouble of the node that passes, and for which the job would
  // be started again; waits until it is over. No start is used up by it.
  bool AwaitsMaintenance() {
    const bool silent = blocker_ && !blocker_->error && !blocker_->answers.empty();
    const bool wanted =
        job_.restart.attempts > 0 && job_.restart.on.contains(RestartReason::kMaintenance);
    if (!silent || !wanted || interrupted()) return false;
    bool gone = false;
    const auto node = LookAtNode(&gone, stops_.drain);
    const auto verdict = node ? JudgeNode(NodeState(*node), NodeHealth(*node)) : std::nullopt;
    if (!verdict || verdict->reason != RestartReason::kMaintenance) return false;
    if (!WaitForPod(*verdict)) return false;
    blocker_.reset();
    return true;
  }

  bool WaitForPod(const JobVerdict& verdict) {
    const bool absent = verdict.reason == RestartReason::kPreemption;
    const std::chrono::seconds patience =
        absent ? std::chrono::seconds(kLongestAbsence) : std::chrono::seconds(kLongestTrouble);
    const auto began = doors_.clock.Steady();
    bool reported = false;
    while (!IsThere()) {
      if (interrupted()) return false;
      if (doors_.clock.Steady() - began > patience) {
        return Refuse(MakeError(
            ErrorCode::kDeadlineExceeded,
            fmt::format("pod.{} did not come back within {}", job_.pod, FormatDuration(patience)),
            fmt::format("`podctl doctor {}` says what is wrong with it.", job_.pod)));
      }
      if (!std::exchange(reported, true)) watcher_.OnWaiting(absent);
      if (!doors_.clock.SleepFor(kAskPace, stops_.drain)) return false;
    }
    return true;
  }

  // The node is READY, the state knows it as it is, and each of the workers answers.
  bool IsThere() {
    auto record = doors_.pod.Record();
    if (!record) return false;
    ready_->record = *std::move(record);
    bool gone = false;
    const auto node = LookAtNode(&gone, stops_.drain);
    if (!node || NodeState(*node) != "READY" || JudgeNode("READY", NodeHealth(*node))) return false;
    if (!ready_->record.uid().empty() && NodeUid(*node) != ready_->record.uid()) return false;
    const auto ready = Prepare();
    return ready && AllAnswered(doors_.rounds.Ask(ready->workers, "true"));
  }

  RunReport End(RunReport::End end, std::optional<JobVerdict> verdict = std::nullopt) {
    return {end, begun_, std::move(result_), restarts_, std::move(verdict), std::move(blocker_)};
  }
  bool interrupted() const { return stops_.drain.stop_requested(); }

  const JobDoors& doors_;
  const Spec& spec_;
  const JobSpec& job_;
  const workers::Run& run_;  // the same one for all starts
  const RunRequest& request_;
  JobWatcher& watcher_;
  const StopTokens& stops_;
  std::optional<ReadyLaunch> ready_;
  std::optional<Blocker> blocker_;
  AttemptResult result_;
  std::string synced_uid_;  // of the node that has the job's files
  int restarts_ = 0;
  int quick_ends_ = 0;  // in a row
  bool begun_ = false;
  bool was_started_ = false;
};

}  // namespace

workers::Run RunOf(const JobSpec& job, const RunRequest& request, const std::string& id) {
  std::vector<std::string> words = job.command;
  for (std::string& word : FlagWords(job)) words.push_back(std::move(word));
  words.insert(words.end(), request.arguments.begin(), request.arguments.end());
  workers::Run run;
  run.job = job.name;
  run.id = id;
  run.owner = request.owner;
  run.shown = VisibleControls(Join(words, " "));
  run.grace = job.grace;
  run.container = ContainerOf(job);
  return run;
}

Result<ReadyLaunch> PrepareLaunch(JobPod& source, const Spec& spec, const JobSpec& job,
                                  const LaunchRequest& request) {
  const PodSpec* pod_spec = FindDeclaredPod(spec, job.pod);
  PODCTL_CHECK(pod_spec != nullptr);
  auto record = source.Record();
  if (!record) return record.error();
  auto target = source.Target();
  if (!target) return target.error();
  const auto pod = LaunchPodOf(*pod_spec, &*record);
  PODCTL_CHECK(pod.has_value());  // Target has found its workers
  auto launch = MakeLaunch(job, *pod, request);
  if (!launch) return launch.error();
  ReadyLaunch ready{*std::move(target), *std::move(record), *std::move(launch), {}};
  for (const WorkerLaunch& worker : ready.launch.workers) {
    ready.workers.push_back(ready.target.workers[static_cast<std::size_t>(worker.worker)]);
  }
  return ready;
}

RunReport SuperviseJob(const JobDoors& doors, const Spec& spec, const JobSpec& job,
                       const workers::Run& run, const RunRequest& request, JobWatcher& watcher,
                       const StopTokens& stops) {
  return JobRun(doors, spec, job, run, request, watcher, stops).Run();
}

DetachReport DetachJob(const DetachDoors& doors, const Spec& spec, const JobSpec& job,
                       const RunRequest& request, const DetachHooks& hooks) {
  DetachReport done;
  auto ready = PrepareLaunch(doors.pod, spec, job,
                             {request.arguments, request.workers, request.attempt, ""});
  if (!ready) {
    done.blocker = Blocker{ready.error(), {}};
    return done;
  }
  if (request.drain) {
    const DrainRequest drain{request.drain_jobs, true, "", request.owner};
    done.blocker = DrainForJob(doors.rounds, *ready, job, drain, hooks.on_event);
  }
  done.start = StartOfJob(*ready, job);
  done.start.run_end = request.start;
  if (done.start.gang) done.start.gang->first = request.attempt;
  if (request.sync && !job.sync.empty() && !done.blocker) {
    // The files of one that is at work are not to change under it.
    done.report.refusal = WhyNotToStart(doors.rounds, done.start);
    if (!done.report.refusal) {
      done.blocker = SyncForJob(doors.rounds, {doors.files, *spec.withheld}, ready->workers, job,
                                hooks.on_event);
    }
  }
  done.target = std::move(ready->target);
  if (done.blocker || done.report.refusal) return done;
  done.report = StartJob(doors.rounds, doors.random, done.start,
                         [&](const StartEvent& news) { hooks.on_start(done.start, news); });
  return done;
}

}  // namespace podctl
