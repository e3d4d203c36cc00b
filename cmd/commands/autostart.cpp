#include "cmd/commands/autostart.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cmd/commands/jobs.h"
#include "cmd/views/jobs_view.h"
#include "cmd/views/round_view.h"
#include "plans/session/due_jobs.h"
#include "providers/base/text.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

// What is seen of the jobs that are started then.
class Starting final : public DueJobsListener {
 public:
  Starting(const KnownPods& pods, const StartedOnPods& started, Reporter& reporter,
           Streams& streams, Clock& clock, const SayLine& say)
      : pods_(pods),
        started_(started),
        reporter_(reporter),
        streams_(streams),
        clock_(clock),
        say_(say) {}

  std::unique_ptr<RoundWatcher> WatchRounds(const std::string& address) override {
    return std::make_unique<RoundView>(streams_, clock_, pods_, address);
  }
  void OnPrepareEvent(const PrepareEvent& news) override {
    ShowRemark(streams_, PrepareEventText(news));
  }
  void OnStart(const DetachedStart& start, const StartEvent& news) override {
    TellStart(start, news, streams_);
  }
  void OnRunsAlready(const JobSpec& job) override {
    say_(fmt::format("Job {} runs on pod.{} already.", job.name, job.pod));
  }
  void OnStarted(const JobSpec& job) override {
    NoteStarted(started_, pods_, job.pod, job.name, clock_.Now());
    say_(fmt::format("Job {} started on pod.{}. Watch it with: podctl logs {} {}{} --follow",
                     job.name, job.pod, job.pod, job.name,
                     job.workers.empty() ? "" : " --worker " + ShellQuote(job.workers)));
  }
  void OnNotStarted(const JobSpec& job, const DetachReport& why) override {
    if (!why.report.Whole()) ShowStart(why, pods_, reporter_, streams_);
    say_(fmt::format("Job {} could not be started. Once that is mended: podctl run {} --detach",
                     job.name, job.name));
  }

 private:
  const KnownPods& pods_;
  const StartedOnPods& started_;
  Reporter& reporter_;
  Streams& streams_;
  Clock& clock_;
  const SayLine& say_;
};

}  // namespace

bool StartJobsOf(const AutostartDoors& doors, const PlanRun& run, const ExecuteResult& result,
                 const SayLine& say) {
  const KnownPods pods(doors.to_pods);
  Starting starting(pods, doors.started, doors.reporter, doors.streams, doors.clock, say);
  const DueJobDoors due{pods, doors.ssh, doors.files, doors.random, doors.stops};
  return StartDueJobs(due, run, result, UserName() + "@" + HostName(), starting);
}

}  // namespace podctl
