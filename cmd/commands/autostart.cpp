#include "cmd/commands/autostart.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cmd/commands/jobs.h"
#include "cmd/views/jobs_view.h"
#include "cmd/views/return_view.h"
#include "cmd/views/round_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/exec/standard_input.h"
#include "plans/session/due_jobs.h"
#include "providers/base/text.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

// Who changes the state while a job starts has to wait for others, and not long: no lock is held
// for long that is not an apply's.
constexpr std::chrono::seconds kLeastLockWait{60};

WantedJobsEdit WantedEdit(Wiring& wiring, std::function<std::unique_ptr<StateStore>()> open_store) {
  LockRequest lock = wiring.lock_request("run");
  lock.wait.timeout = std::max<std::chrono::milliseconds>(lock.wait.timeout, kLeastLockWait);
  return WantedJobsEdit(
      {std::move(open_store), std::move(lock), wiring.random(), wiring.interrupt().drain()});
}

ReturnDoors DoorsOf(Wiring& wiring, const KnownPods& pods, const WantedJobsEdit& edit) {
  return {pods,
          wiring.ssh(),
          wiring.files(),
          wiring.random(),
          wiring.clock(),
          wiring.processes(),
          ScratchFolder(wiring.environment()),
          wiring.stops(),
          edit};
}

// What is seen of the jobs that are started then.
class Starting final : public DueJobsListener {
 public:
  Starting(Wiring& wiring, const KnownPods& pods, const StartedOnPods& started, const SayLine& say,
           const SayLine& say_once)
      : wiring_(wiring),
        pods_(pods),
        started_(started),
        streams_(wiring.streams()),
        say_(say),
        say_once_(say_once) {}

  std::unique_ptr<RoundWatcher> WatchRounds(const std::string& address) override {
    return std::make_unique<RoundView>(streams_, wiring_.clock(), pods_, address);
  }
  std::unique_ptr<RoundWatcher> WatchLook(const std::string& address) override {
    return std::make_unique<QuietRounds>(pods_, address);
  }
  void OnPrepareEvent(const PrepareEvent& news) override {
    ShowRemark(streams_, PrepareEventText(news));
  }
  void OnStart(const DetachedStart& start, const StartEvent& news) override {
    TellStart(start, news, streams_);
  }
  void OnReturnNews(const ReturnNews& news) override {
    using What = ReturnNews::What;
    if (news.what == What::kNotStarted && news.report != nullptr) {
      const auto& blocker = news.report->blocker;
      ShowSilent(blocker ? blocker->answers : news.report->report.answers, pods_, streams_);
    }
    if (news.what == What::kStarted) {
      NoteStarted(started_, pods_, news.pod, news.job, wiring_.clock().Now());
    }
    (IsStanding(news) ? say_once_ : say_)(ReturnNewsText(news));
  }
  void OnRunsAlready(const JobSpec& job) override {
    say_(fmt::format("Job {} runs on pod.{} already.", job.name, job.pod));
  }
  void OnStarted(const JobSpec& job) override {
    NoteStarted(started_, pods_, job.pod, job.name, wiring_.clock().Now());
    say_(fmt::format("Job {} started on pod.{}. Watch it with: podctl logs {} {}{} --follow",
                     job.name, job.pod, job.pod, job.name,
                     job.workers.empty() ? "" : " --worker " + ShellQuote(job.workers)));
  }
  void OnNotStarted(const JobSpec& job, const DetachReport& why) override {
    if (!why.report.Whole()) ShowStart(why, pods_, wiring_.reporter(), streams_);
    say_(fmt::format("Job {} could not be started. Once that is mended: podctl run {} --detach",
                     job.name, job.name));
  }

 private:
  Wiring& wiring_;
  const KnownPods& pods_;
  const StartedOnPods& started_;
  Streams& streams_;
  const SayLine& say_;
  const SayLine& say_once_;
};

}  // namespace

bool StartJobsOf(Wiring& wiring, PodDoors to_pods, const PlanRun& run, const ExecuteResult& result,
                 const StartedOnPods& started, const SayLine& say) {
  const WantedJobsEdit edit = WantedEdit(wiring, to_pods.open_store);
  const KnownPods pods(std::move(to_pods));
  Starting starting(wiring, pods, started, say, say);
  return StartDueJobs(DoorsOf(wiring, pods, edit), run, result, UserName() + "@" + HostName(),
                      starting);
}

WantedLook LookAtJobsOf(Wiring& wiring, const Spec& spec, const WantedJobs& wanted,
                        const StartedOnPods& started, const SayLine& say, const SayLine& say_once) {
  PodDoors to_pods = wiring.pod_doors();
  const WantedJobsEdit edit = WantedEdit(wiring, to_pods.open_store);
  const KnownPods pods(std::move(to_pods));
  Starting starting(wiring, pods, started, say, say_once);
  return LookAtWanted(DoorsOf(wiring, pods, edit), spec, wanted, starting);
}

DetachReport StartWritten(Wiring& wiring, const KnownPods& pods, const DetachDoors& doors,
                          const Spec& spec, const JobSpec& job, const RunRequest& request,
                          const DetachHooks& hooks) {
  const WantedJobsEdit edit = WantedEdit(wiring, [&] { return wiring.OpenStore(); });
  const ReturnDoors all = DoorsOf(wiring, pods, edit);
  WantedStart start = StartAnew(all, doors, spec, job, request, hooks);
  if (start.left_open) {
    wiring.reporter().ShowWarning(fmt::format("The state could not be told that {} was started: {}",
                                              job.name, start.left_open->message),
                                  "It runs. The next look of `podctl watch` sees that.");
  }
  if (start.error) start.report.blocker = Blocker{start.error, {}};
  return std::move(start.report);
}

bool ForgetWanted(Wiring& wiring, const KnownPods& pods, const std::string& pod,
                  const std::string& job) {
  const auto record = pods.Record(pod);
  if (!record) return true;  // whoever asks for its workers is told why
  const auto known = record->jobs.find(job);
  if (known == record->jobs.end()) return true;
  const WantedJobsEdit edit = WantedEdit(wiring, [&] { return wiring.OpenStore(); });
  const auto done = edit.Swap(pod, job, known->second, std::nullopt);
  if (done && *done) return true;
  Error why =
      done ? MakeError(ErrorCode::kAborted, "somebody else has changed it just now") : done.error();
  why.hint =
      fmt::format("Until the same command succeeds, {} comes back with its pod. {}", job, why.hint);
  wiring.reporter().ShowError(fmt::format("{} is still wanted in the state", job), why);
  return false;
}

}  // namespace podctl
