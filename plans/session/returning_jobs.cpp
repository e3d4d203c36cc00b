#include "plans/session/returning_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/step/record.h"
#include "plans/session/state_edit.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

// For as long a start that is written down counts as one that somebody is at: its files are copied,
// all its workers are asked.
constexpr std::chrono::minutes kLongestStart{10};

constexpr RestartReason kReturnReasons[] = {RestartReason::kMaintenance, RestartReason::kPreemption,
                                            RestartReason::kConnection, RestartReason::kReplacement,
                                            RestartReason::kStop};

}  // namespace

bool ComesBack(const JobSpec& job) {
  // Its workers are no gang.
  if (job.launcher == Launcher::kShell || job.restart.attempts == 0) return false;
  return std::any_of(std::begin(kReturnReasons), std::end(kReturnReasons),
                     [&](RestartReason reason) { return job.restart.on.contains(reason); });
}

bool ReturnsOnItsPod(const JobSpec& job) {
  return job.restart.on.contains(RestartReason::kConnection) ||
         job.restart.on.contains(RestartReason::kMaintenance);
}

const JobSpec* FindReturningJob(const Spec& spec, const std::string& pod, const std::string& name) {
  for (const JobSpec& job : spec.jobs) {
    if (job.name == name && job.pod == pod && ComesBack(job)) return &job;
  }
  return nullptr;
}

bool IsOnAnother(const WantedJob& wanted, const PodRecord& record) {
  return !wanted.uid.empty() && wanted.uid != record.uid();
}

bool IsRecent(const WantedJob& wanted, Clock::SystemTime now) {
  const auto since = ParseTimestamp(wanted.since);
  return since && now - *since < kLongestStart;
}

Result<bool> WantedJobsEdit::Edit(const std::string& pod, const Change& change) const {
  StateEdit edit(doors_.open_store(), doors_.random);
  if (auto locked = edit.Lock(doors_.lock, doors_.stop); !locked) return locked.error();
  if (auto loaded = edit.Load(); !loaded) return loaded.error();
  const Address address = PodAddress(pod);
  if (!Pods(edit.state()).contains(address)) {
    return MakeError(ErrorCode::kNotFound, fmt::format("{} is not in the state", address));
  }
  if (!change(&Pods(edit.state()).at(address).jobs)) return false;
  if (auto saved = edit.Save(); !saved) return saved.error();
  return true;
}

Result<bool> WantedJobsEdit::Swap(const std::string& pod, const std::string& job,
                                  const std::optional<WantedJob>& before,
                                  const std::optional<WantedJob>& after) const {
  return Edit(pod, [&](std::map<std::string, WantedJob>* jobs) {
    const auto there = jobs->find(job);
    const bool as_read =
        there == jobs->end() ? !before.has_value() : before && there->second == *before;
    if (as_read && after) (*jobs)[job] = *after;
    if (as_read && !after) jobs->erase(job);
    return as_read;
  });
}

Result<std::optional<WantedJob>> WantedJobsEdit::Forget(const std::string& pod,
                                                        const std::string& job) const {
  std::optional<WantedJob> was;
  const auto done = Edit(pod, [&](std::map<std::string, WantedJob>* jobs) {
    const auto there = jobs->find(job);
    if (there == jobs->end()) return false;
    was = std::move(there->second);
    jobs->erase(there);
    return true;
  });
  if (!done) return done.error();
  return was;
}

RunRequest Again(const WantedJob& wanted) {
  RunRequest request;
  request.owner = wanted.by;
  request.arguments = wanted.arguments;
  request.workers = wanted.workers;
  // One that nobody has seen begin is begun once more.
  request.attempt = wanted.begins ? wanted.attempt : wanted.attempt + 1;
  return request;
}

namespace {

bool IsForgotten(JobPod& pod, const std::string& job) {
  const auto record = pod.Record();
  return record && !record->jobs.contains(job);
}

}  // namespace

WantedStart StartWanted(const WantedStartDoors& doors, const Spec& spec, const JobSpec& job,
                        RunRequest request, const std::optional<WantedJob>& before, bool again,
                        const DetachHooks& hooks) {
  WantedStart start;
  const auto fail = [&](const Error& why) {
    start.error = why;
    return std::move(start);
  };
  const auto record = doors.detach.pod.Record();
  if (!record) return fail(record.error());
  WantedJob wanted;
  wanted.start = NewRunEnd(doors.detach.random);
  wanted.uid = record->uid();
  wanted.begins = true;
  wanted.attempt = request.attempt;
  wanted.since = FormatTimestamp(doors.clock.Now());
  wanted.by = request.owner;
  wanted.workers = request.workers;
  wanted.arguments = request.arguments;
  JobSpec same_job = job;
  std::optional<SameCode> same;
  if (!again && request.sync) {
    auto code = CodeOf(doors.code, job);
    if (!code) return fail(code.error());
    wanted.code = *std::move(code);
  } else if (again && !before->code.empty()) {
    auto found = SameCode::Find(doors.code, job, before->code);
    if (!found) return fail(found.error());
    same = *std::move(found);
    same_job.sync = same->sync();
    wanted.code = before->code;
  } else {
    request.sync = false;  // what it was started with was not copied for it
  }
  const auto written = doors.edit.Swap(job.pod, job.name, before, wanted);
  if (!written) return fail(written.error());
  start.taken = !*written;
  if (start.taken) return start;
  request.start = wanted.start;
  start.report = DetachJob(doors.detach, spec, same_job, request, hooks);
  std::optional<WantedJob> after = wanted;
  if (start.report.report.Whole()) {
    after->begins = false;
  } else if (start.report.report.started.empty()) {
    after = before;
  }
  const auto told = doors.edit.Swap(job.pod, job.name, wanted, after);
  if (!told) start.left_open = told.error();
  if (told && !*told && IsForgotten(doors.detach.pod, job.name)) {
    // Whoever ended it found nothing yet that ran.
    KillJob(doors.detach.rounds, start.report.start.workers, start.report.start.workers,
            {job.name, {}, "somebody, while it began"});
    start.forgotten = true;
  }
  return start;
}

WantedStart StartAnew(const ReturnDoors& doors, const DetachDoors& detach, const Spec& spec,
                      const JobSpec& job, const RunRequest& request, const DetachHooks& hooks) {
  WantedStart start;
  const auto record = detach.pod.Record();
  if (!record) {
    start.error = record.error();
    return start;
  }
  const auto known = record->jobs.find(job.name);
  std::optional<WantedJob> before;
  if (known != record->jobs.end()) before = known->second;
  start = StartWanted({detach, doors.edit, doors.clock, doors.Code(spec)}, spec, job, request,
                      before, false, hooks);
  if (start.forgotten) {
    start.error =
        MakeError(ErrorCode::kAborted, fmt::format("somebody ended {} while it began", job.name),
                  fmt::format("`podctl jobs {}` shows what is left of it.", job.pod));
  }
  if (start.taken) {
    start.error = MakeError(ErrorCode::kAborted,
                            fmt::format("somebody else starts {} just now, or ends it", job.name),
                            fmt::format("`podctl jobs {}` shows how it is.", job.pod));
  }
  return start;
}

std::set<std::string> UnfinishedPods(const Spec& spec, const ExecuteResult& result) {
  std::set<Address> addresses;
  std::set<std::string> pods;
  for (const auto& failure : result.failures) pods.insert(PodNameOf(failure.change.address));
  for (const auto& skip : result.skipped) addresses.insert(skip.address);
  addresses.insert(result.unfinished.begin(), result.unfinished.end());
  addresses.insert(result.queued.begin(), result.queued.end());
  addresses.insert(result.behind_queued.begin(), result.behind_queued.end());
  for (const PodSpec* pod : DeclaredPods(spec)) {
    const std::string steps = pod->name + ".";
    const bool left = std::any_of(addresses.begin(), addresses.end(), [&](const auto& address) {
      return address == PodAddress(pod->name) ||
             (address.kind == kStepKind && address.name.starts_with(steps));
    });
    if (left) pods.insert(pod->name);
  }
  return pods;
}

WantedJobs WantedJobsOf(const State& state) {
  WantedJobs all;
  for (const auto& [address, record] : Pods(state)) {
    if (!record.jobs.empty()) all[address.name] = record.jobs;
  }
  return all;
}

WantedSight JudgeWanted(const WantedJob& wanted, const std::string& job,
                        const std::vector<WorkerJobs>& found, bool recent) {
  using Is = workers::JobStatus::State;
  WantedSight sight;
  std::vector<const workers::JobStatus*> all;
  std::string running;  // the run that does
  for (const WorkerJobs& worker : found) {
    for (const workers::JobStatus& each : worker.jobs) {
      if (each.name != job) continue;
      all.push_back(&each);
      if (each.state == Is::kRunning) running = each.run;
    }
  }
  const auto news = GangOf(found, job);
  sight.attempt = std::max(wanted.attempt, news ? news->attempt : 1);
  const bool is_mine = std::any_of(all.begin(), all.end(), [&](const auto* each) {
    return IsRunWithEnd(each->run, wanted.start);
  });
  const bool everywhere = all.size() == found.size();
  const auto all_are = [&](Is state) {
    return everywhere && std::all_of(all.begin(), all.end(),
                                     [&](const auto* each) { return each->state == state; });
  };
  if (all_are(Is::kRunning) && (!news || news->waiting.empty())) {
    sight.start = running.substr(running.rfind('-') + 1);
    return sight;
  }
  if (recent && wanted.begins && !is_mine) {
    sight.is = WantedSight::Is::kBeingStarted;
    return sight;
  }
  if (is_mine && all_are(Is::kEnded)) {
    sight.is = WantedSight::Is::kEnded;
    for (const auto* each : all) {
      if (sight.exit_code == 0) sight.exit_code = each->exit_code;
      if (sight.who.empty()) sight.who = workers::WhoOf(each->ended_by);
    }
    return sight;
  }
  // Some have ended, and the others are about to say so.
  const bool ending = everywhere && std::none_of(all.begin(), all.end(), [](const auto* each) {
                        return each->state == Is::kDied;
                      });
  if (is_mine && ending && (!news || news->waiting.empty())) {
    sight.start = wanted.start;
    return sight;
  }
  sight.is = WantedSight::Is::kLost;
  for (const WorkerJobs& worker : found) {
    const bool lives = std::any_of(worker.jobs.begin(), worker.jobs.end(), [&](const auto& each) {
      return each.name == job && each.state != Is::kDied;
    });
    if (!lives) sight.lost.push_back(worker.worker);
  }
  if (sight.lost.empty() && news) sight.lost = news->waiting;
  sight.rest = !running.empty();
  return sight;
}

namespace {

class Return {
 public:
  Return(const ReturnDoors& doors, const Spec& spec, ReturnListener& listener)
      : doors_(doors), spec_(spec), listener_(listener) {}

  bool brought_back() const { return brought_back_; }

  bool StartAgain(const JobSpec& job, const WantedJob& wanted, const std::string& because) {
    RunRequest request = Again(wanted);
    // On another node it may have run for a while, whoever saw it.
    const auto record = doors_.pods.Record(job.pod);
    if (record && IsOnAnother(wanted, *record)) request.attempt = wanted.attempt + 1;
    ReturnNews news = NewsOf(ReturnNews::What::kComesBack, job.pod, job.name, request.attempt);
    news.attempts = job.restart.attempts + 1;
    news.because = because;
    if (request.attempt > news.attempts) return Forget(news, ReturnNews::What::kUsedUp, wanted);
    listener_.OnReturnNews(news);
    const auto watcher = listener_.WatchRounds(PodAddress(job.pod).Text());
    WorkerRounds rounds(doors_.transport, *watcher, doors_.stops.drain, doors_.stops.leave);
    PodByName pod(doors_.pods, job.pod);
    const WantedStartDoors start_doors{
        {rounds, doors_.files, doors_.random, pod}, doors_.edit, doors_.clock, doors_.Code(spec_)};
    const WantedStart start =
        StartWanted(start_doors, spec_, job, request, wanted, true, listener_.Hooks());
    if (start.taken) return Tell(news, ReturnNews::What::kTaken);
    if (start.forgotten) {
      news.because = "somebody while it began";
      return Tell(news, ReturnNews::What::kEndedByHand);
    }
    if (start.error || !start.report.report.Whole()) {
      news.error = start.error;
      news.report = &start.report;
      Tell(news, ReturnNews::What::kNotStarted);
      return false;
    }
    Tell(news, ReturnNews::What::kStarted);
    brought_back_ = true;
    if (!start.left_open) return true;
    news.error = start.left_open;
    return Tell(news, ReturnNews::What::kStateNotTold);
  }

  // What its workers say of it. nullopt: some of them say nothing, which was told.
  std::optional<WantedSight> Look(const JobSpec& job, const WantedJob& wanted) {
    const auto ready = Ready(job, wanted);
    if (!ready) return std::nullopt;
    const auto watcher = listener_.WatchLook(ready->target.address);
    WorkerRounds rounds(doors_.transport, *watcher, doors_.stops.drain, doors_.stops.leave);
    const JobsReport report = ListJobs(rounds, ready->workers, job.name);
    if (doors_.stops.drain.stop_requested()) return std::nullopt;
    if (!AllAnswered(report.answers)) {
      TellSilent(job, wanted, report.answers);
      return std::nullopt;
    }
    const WantedSight sight =
        JudgeWanted(wanted, job.name, report.found, IsRecent(wanted, doors_.clock.Now()));
    const WorkerAccess& any = ready->workers.front();
    why_lost_ = sight.lost.size() == ready->workers.size()
                    ? "nothing of it runs any more"
                    : fmt::format("{} lost it", WorkersName(any.pod, sight.lost, any.per_slice));
    return sight;
  }

  // A job whose spec was changed since is another command, which would not end what is left of it.
  bool EndRest(const JobSpec& job, const WantedJob& wanted) {
    const auto ready = Ready(job, wanted);
    if (!ready) return false;
    const auto watcher = listener_.WatchLook(ready->target.address);
    WorkerRounds rounds(doors_.transport, *watcher, doors_.stops.drain, doors_.stops.leave);
    const KillReport killed = KillJob(rounds, ready->workers, ready->workers,
                                      {job.name, {}, "podctl, since others had lost it"});
    if (AllAnswered(killed.answers) && !killed.runs) return true;
    TellSilent(job, wanted, killed.answers);
    return false;
  }

  bool Act(const JobSpec& job, const WantedJob& wanted, const WantedSight& sight) {
    ReturnNews news = NewsOf(ReturnNews::What::kEnded, job.pod, job.name, sight.attempt);
    news.attempts = job.restart.attempts + 1;
    switch (sight.is) {
      case WantedSight::Is::kRuns: {
        WantedJob now = wanted;
        now.start = sight.start;
        now.attempt = sight.attempt;
        now.begins = false;
        return now == wanted || Save(news, wanted, now);
      }
      case WantedSight::Is::kBeingStarted:
        return true;
      case WantedSight::Is::kEnded:
        if (!sight.who.empty()) {
          news.because = sight.who;
          return Forget(news, ReturnNews::What::kEndedByHand, wanted);
        }
        if (sight.exit_code == 0) return Forget(news, ReturnNews::What::kEnded, wanted);
        news.because = ExitCodeText(sight.exit_code);
        return Forget(news, ReturnNews::What::kFailed, wanted);
      case WantedSight::Is::kLost:
        break;
    }
    WantedJob last = wanted;
    last.attempt = sight.attempt;
    if (last != wanted && !Save(news, wanted, last)) return false;
    const bool counts = ReturnsOnItsPod(job) || wanted.begins;
    if (counts) return (!sight.rest || EndRest(job, last)) && StartAgain(job, last, why_lost_);
    news.because = why_lost_;
    return Forget(news, ReturnNews::What::kNotForThat, last);
  }

  // Takes it off the state, and then tells why: who hears that it has ended may end this, or the
  // pod.
  bool Forget(ReturnNews news, ReturnNews::What what, const WantedJob& wanted) {
    const bool saved = Save(news, wanted, std::nullopt);
    Tell(news, what);
    return saved;
  }

  bool Save(ReturnNews news, const WantedJob& before, const std::optional<WantedJob>& after) {
    const auto saved = doors_.edit.Swap(news.pod, news.job, before, after);
    // Without its pod there is nothing to be taken off; what somebody else wrote is his.
    if (saved || saved.error().code == ErrorCode::kNotFound) return true;
    news.error = saved.error();
    Tell(news, ReturnNews::What::kStateNotTold);
    return false;
  }

  // nullopt: its workers cannot be asked, which was told.
  std::optional<ReadyLaunch> Ready(const JobSpec& job, const WantedJob& wanted) {
    PodByName pod(doors_.pods, job.pod);
    auto ready =
        PrepareLaunch(pod, spec_, job, {wanted.arguments, wanted.workers, wanted.attempt, ""});
    if (ready) return *std::move(ready);
    ReturnNews news = NewsOf(ReturnNews::What::kWaits, job.pod, job.name, wanted.attempt);
    news.error = ready.error();
    Tell(news, news.what);
    return std::nullopt;
  }

  void TellSilent(const JobSpec& job, const WantedJob& wanted,
                  const std::vector<WorkerAnswer>& answers) {
    ReturnNews news = NewsOf(ReturnNews::What::kWaits, job.pod, job.name, wanted.attempt);
    news.per_slice = answers.front().worker.per_slice;
    for (const WorkerAnswer& answer : answers) {
      if (!answer.result.ok()) news.workers.push_back(answer.worker.index);
    }
    Tell(news, news.what);
  }

  static ReturnNews NewsOf(ReturnNews::What what, const std::string& pod, const std::string& job,
                           int attempt) {
    return {what, job, pod, attempt};
  }
  bool Tell(ReturnNews news, ReturnNews::What what) {
    news.what = what;
    listener_.OnReturnNews(news);
    return true;
  }

 private:
  const ReturnDoors& doors_;
  const Spec& spec_;
  ReturnListener& listener_;
  std::string why_lost_;  // what was looked at last
  bool brought_back_ = false;
};

// For what the run has done to a pod its jobs may be started again; nullopt: it has left them be.
std::optional<RestartReason> ReasonOf(const Plan& plan, const std::string& pod) {
  for (const Change& change : plan.changes) {
    const PodChange* of_pod = AsPod(change);
    if (of_pod == nullptr || change.address != PodAddress(pod)) continue;
    if (Makes(change)) {
      return of_pod->lost.empty() ? RestartReason::kReplacement : RestartReason::kPreemption;
    }
    if (of_pod->power == Power::kStart) return RestartReason::kStop;
  }
  return std::nullopt;
}

std::string_view WordsOfReason(RestartReason reason) {
  switch (reason) {
    case RestartReason::kReplacement:
      return "its pod was replaced";
    case RestartReason::kStop:
      return "its pod was stopped, and is started again";
    default:
      return "its pod was made anew";
  }
}

bool IsReady(const PodRecord& record) {
  return record.exists() && !record.pending() && !IsRecovering(record) &&
         record.observed["state"].AsString() == "READY";
}

}  // namespace

bool ReturnsAfter(const JobSpec& job, const Plan& plan) {
  const auto reason = ReasonOf(plan, job.pod);
  return reason && job.restart.on.contains(*reason);
}

bool BringBackAfterRun(const ReturnDoors& doors, const Spec& spec, const Plan& plan,
                       const ExecuteResult& result, const WantedJobs& wanted,
                       ReturnListener& listener, std::set<std::string>* seen) {
  Return back(doors, spec, listener);
  const std::set<std::string> unfinished = UnfinishedPods(spec, result);
  bool all = true;
  for (const auto& [pod, jobs] : wanted) {
    const auto reason = ReasonOf(plan, pod);
    if (!reason || unfinished.contains(pod)) continue;
    for (const auto& [name, start] : jobs) {
      if (doors.stops.drain.stop_requested()) return false;
      const JobSpec* job = FindReturningJob(spec, pod, name);
      if (job == nullptr) continue;  // the next look tells it
      const bool counts = job->restart.on.contains(*reason);
      // A new pod has it started anew.
      if (!counts && job->autostart && *reason != RestartReason::kStop) continue;
      seen->insert(name);
      // A pod that was replaced is a new one in the state, which knows of no job.
      const auto record = doors.pods.Record(pod);
      const bool known = record && record->jobs.contains(name);
      if (!known) {
        if (const auto put = doors.edit.Swap(pod, name, std::nullopt, start); !put || !*put) {
          all = false;
          continue;
        }
      }
      if (counts) {
        all = back.StartAgain(*job, start, std::string(WordsOfReason(*reason))) && all;
        continue;
      }
      ReturnNews news{ReturnNews::What::kNotForThat, name, pod, start.attempt};
      news.because = WordsOfReason(*reason);
      all = back.Forget(news, news.what, start) && all;
    }
  }
  return all;
}

WantedLook LookAtWanted(const ReturnDoors& doors, const Spec& spec, const WantedJobs& wanted,
                        ReturnListener& listener) {
  Return back(doors, spec, listener);
  bool all = true;
  for (const auto& [pod, jobs] : wanted) {
    // As the state is by now: the look that found these has been followed by a run, perhaps.
    const auto record = doors.pods.Record(pod);
    if (!record || !IsReady(*record)) continue;
    for (const auto& [name, start] : record->jobs) {
      if (doors.stops.drain.stop_requested()) return WantedLook::kFailed;
      const JobSpec* job = FindReturningJob(spec, pod, name);
      if (job == nullptr) {
        listener.OnReturnNews({ReturnNews::What::kNotInTheSpec, name, pod, start.attempt});
        continue;
      }
      if (IsOnAnother(start, *record)) {
        all = back.StartAgain(*job, start, "its pod was made anew") && all;
        continue;
      }
      const auto sight = back.Look(*job, start);
      if (sight) all = back.Act(*job, start, *sight) && all;
    }
  }
  if (!all) return WantedLook::kFailed;
  return back.brought_back() ? WantedLook::kBroughtBack : WantedLook::kNothing;
}

}  // namespace podctl
