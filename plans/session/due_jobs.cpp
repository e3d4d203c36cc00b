#include "plans/session/due_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"

namespace podctl {
namespace {

// Pods of which something was left undone.
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

// Jobs that `autostart` is set for, and whose pod this plan has made, replaced or bootstrapped, all
// of it as planned.
struct DueJob {
  const JobSpec* job = nullptr;  // of the spec
  bool fresh = false;            // the pod's workers are new ones: nothing runs there
};
std::vector<DueJob> JobsDue(const Spec& spec, const Plan& plan, const ExecuteResult& result) {
  std::map<std::string, bool> touched;  // pod -> whether its workers are new
  for (const Change& change : plan.changes) {
    const std::string pod = PodNameOf(change.address);
    if (!pod.empty() && Makes(change)) touched[pod] = true;
    if (change.verb == Verb::kRun) touched.emplace(pod, false);
  }
  const std::set<std::string> unfinished = UnfinishedPods(spec, result);
  std::vector<DueJob> due;
  for (const JobSpec& job : spec.jobs) {
    const auto pod = touched.find(job.pod);
    if (!job.autostart || pod == touched.end() || unfinished.contains(job.pod)) continue;
    due.push_back({&job, pod->second});
  }
  return due;
}

// On some worker; where it cannot be asked, the start will say why.
bool RunsAlready(const KnownPods& pods, WorkerRounds& rounds, const JobSpec& job) {
  const auto target = pods.Find(job.pod);
  return target && RunsSomewhere(ListJobs(rounds, target->workers, job.name));
}

}  // namespace

bool StartDueJobs(const DueJobDoors& doors, const PlanRun& run, const ExecuteResult& result,
                  const std::string& owner, DueJobsListener& listener) {
  const std::stop_token& stop = doors.stops.drain;
  const DetachHooks hooks{
      .on_event = [&](const PrepareEvent& news) { listener.OnPrepareEvent(news); },
      .on_start = [&](const DetachedStart& start,
                      const StartEvent& news) { listener.OnStart(start, news); }};
  RunRequest request;
  request.owner = owner;
  bool all = true;
  for (const DueJob& due : JobsDue(run.spec, run.plan, result)) {
    if (stop.stop_requested()) return false;
    const JobSpec& job = *due.job;
    const auto watcher = listener.WatchRounds(PodAddress(job.pod).Text());
    WorkerRounds rounds(doors.transport, *watcher, stop, doors.stops.leave);
    if (!due.fresh && RunsAlready(doors.pods, rounds, job)) {
      listener.OnRunsAlready(job);
      continue;
    }
    PodByName pod(doors.pods, job.pod);
    const DetachReport done =
        DetachJob({rounds, doors.files, doors.random, pod}, run.spec, job, request, hooks);
    if (done.report.Whole() && !stop.stop_requested()) {
      listener.OnStarted(job);
    } else {
      listener.OnNotStarted(job, done);
      all = false;
    }
  }
  return all;
}

namespace {

// What becomes of the pod itself; "" for its steps, and for what is only bookkeeping.
std::string_view FateOf(const Change& change) {
  if (AsPod(change) == nullptr) return "";
  if (change.verb == Verb::kCreate) return "is created";
  if (IsReplace(change)) return "is replaced";
  if (change.verb == Verb::kUpdate) return "is changed";
  return IsDelete(change) && change.address.deposed.empty() ? "is destroyed" : "";
}

}  // namespace

std::vector<std::string> JobsAffected(const Spec& spec, const Plan& plan) {
  std::map<std::string, std::string_view> fates;  // by the pod's name
  for (const Change& change : plan.changes) {
    if (const std::string_view fate = FateOf(change); !fate.empty()) {
      fates[PodNameOf(change.address)] = fate;
    }
  }
  std::vector<std::string> lines;
  for (const JobSpec& job : spec.jobs) {
    const auto fate = fates.find(job.pod);
    if (fate == fates.end()) continue;
    const bool starts =
        job.autostart && (fate->second == "is created" || fate->second == "is replaced");
    lines.push_back(fmt::format("{} is a job of {}, which {}{}", job.name, PodAddress(job.pod),
                                fate->second, starts ? "; it is started then" : ""));
  }
  return lines;
}

namespace {

// What of a plan ends whatever runs on the pod; "" where nothing does.
std::string_view EndOfJobs(const Change& change) {
  if (AsPod(change) != nullptr) {
    if (IsReplace(change)) return "its replacement";
    return IsDelete(change) && change.address.deposed.empty() ? "its deletion" : "";
  }
  const StepChange* step = AsStep(change);
  const bool restarts = step != nullptr && step->step.kind == Step::Kind::kRestartRuntime;
  return restarts ? "the restart of tpu-runtime" : "";
}

}  // namespace

std::vector<std::string> JobsEnded(
    const Plan& plan, const State& state,
    const std::function<std::vector<StartedJob>(const std::string& pod)>& started) {
  std::map<std::string, std::string_view> ends;  // by the pod's name
  for (const Change& change : plan.changes) {
    const std::string_view end = EndOfJobs(change);
    if (end.empty()) continue;
    // What becomes of the pod itself says more than its steps do.
    auto& known = ends[PodNameOf(change.address)];
    if (known.empty() || AsPod(change) != nullptr) known = end;
  }
  std::vector<std::string> lines;
  for (const auto& [pod, end] : ends) {
    const PodRecord* record = Pods(state).Get(PodAddress(pod));
    if (record == nullptr) continue;
    for (const StartedJob& job : started(pod)) {
      // The workers of another node are others.
      if (!job.uid.empty() && job.uid != record->uid()) continue;
      lines.push_back(
          fmt::format("{} was started on {} at {}, and no end of it is known here: {} ends it",
                      job.name, PodAddress(pod), job.started_at, end));
    }
  }
  return lines;
}

}  // namespace podctl
