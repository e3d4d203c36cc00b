#include "cmd/commands/autostart.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cmd/commands/jobs.h"
#include "cmd/views/jobs_view.h"
#include "cmd/views/return_view.h"
#include "cmd/views/round_view.h"
#include "plans/session/due_jobs.h"
#include "providers/base/text.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

// What is seen of the jobs that are started then.
class Starting final : public DueJobsListener {
 public:
  Starting(const ReturnDoors& doors, const TellJobs& tell) : doors_(doors), tell_(tell) {}

  std::unique_ptr<RoundWatcher> WatchRounds(const std::string& address) override {
    return std::make_unique<RoundView>(tell_.streams, doors_.clock, doors_.pods, address);
  }
  std::unique_ptr<RoundWatcher> WatchLook(const std::string& address) override {
    return std::make_unique<QuietRounds>(doors_.pods, address);
  }
  void OnPrepareEvent(const PrepareEvent& news) override { tell_.remark(PrepareEventText(news)); }
  void OnStart(const DetachedStart& start, const StartEvent& news) override {
    TellStart(start, news, tell_.streams);
  }
  void OnReturnNews(const ReturnNews& news) override {
    using What = ReturnNews::What;
    if (news.what == What::kNotStarted && news.report != nullptr) {
      const auto& blocker = news.report->blocker;
      ShowSilent(blocker ? blocker->answers : news.report->report.answers, doors_.pods,
                 tell_.streams);
    }
    if (news.what == What::kStarted) {
      NoteStarted(tell_.started, doors_.pods, news.pod, news.job, doors_.clock.Now());
    }
    (IsStanding(news) ? tell_.say_once : tell_.say)(ReturnNewsText(news));
  }
  void OnRunsAlready(const JobSpec& job) override {
    tell_.say(fmt::format("Job {} runs on pod.{} already.", job.name, job.pod));
  }
  void OnStarted(const JobSpec& job) override {
    NoteStarted(tell_.started, doors_.pods, job.pod, job.name, doors_.clock.Now());
    tell_.say(fmt::format("Job {} started on pod.{}. Watch it with: podctl logs {} {}{} --follow",
                          job.name, job.pod, job.pod, job.name,
                          job.workers.empty() ? "" : " --worker " + ShellQuote(job.workers)));
  }
  void OnNotStarted(const JobSpec& job, const DetachReport& why) override {
    if (!why.report.Whole()) ShowStart(why, doors_.pods, tell_.reporter, tell_.streams);
    tell_.say(
        fmt::format("Job {} could not be started. Once that is mended: podctl run {} --detach",
                    job.name, job.name));
  }

 private:
  const ReturnDoors& doors_;
  const TellJobs& tell_;
};

}  // namespace

bool StartJobsOf(const ReturnDoors& doors, const PlanRun& run, const ExecuteResult& result,
                 const TellJobs& tell) {
  Starting starting(doors, tell);
  return StartDueJobs(doors, run, result, UserName() + "@" + HostName(), starting);
}

WantedLook LookAtJobsOf(const ReturnDoors& doors, const Spec& spec, const WantedJobs& wanted,
                        const TellJobs& tell) {
  Starting starting(doors, tell);
  return LookAtWanted(doors, spec, wanted, starting);
}

DetachReport StartWritten(const ReturnDoors& doors, const DetachDoors& detach, const Spec& spec,
                          const JobSpec& job, const RunRequest& request, const DetachHooks& hooks,
                          Reporter& reporter) {
  WantedStart start = StartAnew(doors, detach, spec, job, request, hooks);
  if (start.left_open) {
    reporter.ShowWarning(fmt::format("The state could not be told that {} was started: {}",
                                     job.name, start.left_open->message),
                         "It runs. The next look of `podctl watch` sees that.");
  }
  if (start.error) start.report.blocker = Blocker{start.error, {}};
  return std::move(start.report);
}

std::optional<bool> ForgetWanted(const ReturnDoors& doors, const std::string& pod,
                                 const std::string& job, Reporter& reporter) {
  const auto record = doors.pods.Record(pod);
  if (!record) return false;  // whoever asks for its workers is told why
  if (!record->jobs.contains(job)) return false;
  const auto was = doors.edit.Forget(pod, job);
  if (was) {
    reporter.Note(fmt::format("Job {} does not come back with {} any more.", job, PodAddress(pod)));
    if (*was && (*was)->begins) {
      reporter.Note("Whoever is about to start it will end it again.");
    }
    return true;
  }
  Error why = was.error();
  why.hint =
      fmt::format("Until the same command succeeds, {} comes back with its pod. {}", job, why.hint);
  reporter.ShowError(fmt::format("{} is still wanted in the state", job), why);
  return std::nullopt;
}

}  // namespace podctl
