#include "plans/session/due_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "plans/fleet/run/prepare.h"
#include "plans/jobs/command_text.h"
#include "plans/jobs/launch.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

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

namespace {

// Of a job that comes back the start is written down.
DetachReport StartDue(const ReturnDoors& doors, const Spec& spec, const JobSpec& job,
                      const RunRequest& request, WorkerRounds& rounds, const DetachHooks& hooks) {
  PodByName pod(doors.pods, job.pod);
  const DetachDoors detach{rounds, doors.files, doors.random, pod};
  if (!ComesBack(job)) return DetachJob(detach, spec, job, request, hooks);
  WantedStart start = StartAnew(doors, detach, spec, job, request, hooks);
  if (start.error) start.report.blocker = Blocker{start.error, {}};
  return std::move(start.report);
}

}  // namespace

bool StartDueJobs(const ReturnDoors& doors, const PlanRun& run, const ExecuteResult& result,
                  const std::string& owner, DueJobsListener& listener) {
  const std::stop_token& stop = doors.stops.drain;
  const DetachHooks hooks = listener.Hooks();
  RunRequest request;
  request.owner = owner;
  std::set<std::string> seen;
  bool all = BringBackAfterRun(doors, run.spec, run.plan, result, run.wanted, listener, &seen);
  for (const DueJob& due : JobsDue(run.spec, run.plan, result)) {
    if (stop.stop_requested()) return false;
    const JobSpec& job = *due.job;
    if (seen.contains(job.name)) continue;
    const auto watcher = listener.WatchRounds(PodAddress(job.pod).Text());
    WorkerRounds rounds(doors.transport, *watcher, stop, doors.stops.leave);
    if (!due.fresh && RunsAlready(doors.pods, rounds, job)) {
      listener.OnRunsAlready(job);
      continue;
    }
    const DetachReport done = StartDue(doors, run.spec, job, request, rounds, hooks);
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

constexpr std::string_view kSyncLine = "\n  sync: ";

// What becomes of the pod itself; "" for its steps, and for what is only bookkeeping.
std::string_view FateOf(const Change& change) {
  if (AsPod(change) == nullptr) return "";
  if (change.verb == Verb::kCreate) return "is created";
  if (IsReplace(change)) return "is replaced";
  if (change.verb == Verb::kUpdate) return "is changed";
  return IsDelete(change) && change.address.deposed.empty() ? "is destroyed" : "";
}

// In one line where it is one, else line by line.
std::string KeyAndText(std::string_view key, const std::string& text) {
  if (text.find('\n') == std::string::npos) return fmt::format("\n  {}: {}", key, text);
  std::string text_lines = fmt::format("\n  {}:", key);
  for (const std::string& line : SplitLines(text)) text_lines += "\n    | " + line;
  return text_lines;
}

// Names and values of a spec, in one line whatever they hold.
std::string Quoted(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_of(" \n\"'") == std::string::npos;
  return plain ? VisibleControls(text) : ToJson(Value(text));
}

std::string EnvOf(const JobSpec& job) {
  std::vector<std::string> words;
  for (const auto& [name, value] : job.env) {
    words.push_back(fmt::format(
        "{}={}", name,
        job.secret_env.contains(name) ? "(sensitive value)" : Quoted(TemplateAsWritten(value))));
  }
  return Join(words, " ");
}

// Where it really lies, when that is elsewhere than written.
std::string SourceOf(const JobSync& sync, const std::string& base) {
  const std::string folder = base + "/";
  const bool below = !base.empty() && sync.source.starts_with(folder);
  const std::string written = below ? sync.source.substr(folder.size()) : sync.source;
  std::error_code unknown;
  if (!std::filesystem::is_symlink(sync.source, unknown)) return Quoted(written);
  return fmt::format("{} (a link to {})", Quoted(written), Quoted(RealPath(sync.source)));
}

std::string SyncOf(const JobSpec& job, const JobSync& sync, const SyncDoors& doors,
                   const std::string& base, Diagnostics* problems) {
  std::string text =
      fmt::format("{}{} -> {}", kSyncLine, SourceOf(sync, base), Quoted(sync.destination));
  for (const std::string& pattern : sync.exclude)
    text += fmt::format(" without {}", Quoted(pattern));
  const auto content = ReadSync(doors, sync);
  if (content) {
    return text + fmt::format(" ({}, {} bytes, sha256:{})", Plural(content->files, "file"),
                              content->bytes, content->digest);
  }
  // The reader of the spec has made sure that this plan makes it.
  if (content.error().code == ErrorCode::kNotFound && !doors.files.Stat(sync.source)) {
    return text + " (not there yet)";
  }
  problems->Add({.summary = content.error().message,
                 .place = job.place,
                 .context = fmt::format("jobs.{}.sync", job.name),
                 .detail = content.error().hint});
  return text;
}

// All that is done when it starts.
std::string TextOfStart(const JobSpec& job, const SyncDoors& doors, const std::string& base,
                        Diagnostics* problems) {
  std::string text = KeyAndText("command", TemplateAsWritten(CommandText(job, FlagWords(job))));
  text += KeyAndText("launcher", std::string(LauncherName(job.launcher)));
  if (!job.run_config.empty()) text += KeyAndText("runConfig", Join(RunConfigWords(job), " "));
  text += KeyAndText("workers", job.workers.empty() ? "those of the launcher" : job.workers);
  if (!job.env.empty()) text += KeyAndText("env", EnvOf(job));
  if (!job.conda_env.empty()) text += KeyAndText("condaEnv", job.conda_env);
  if (job.docker) {
    std::vector<std::string> words = {job.docker->image};
    words.insert(words.end(), job.docker->flags.begin(), job.docker->flags.end());
    for (std::string& word : words) word = Quoted(word);
    text += KeyAndText("docker", Join(words, " "));
  }
  if (!job.logs.empty()) text += KeyAndText("logs", Quoted(job.logs));
  for (const JobSync& sync : job.sync) text += SyncOf(job, sync, doors, base, problems);
  return text;
}

// How a job's pod comes to be one that `autostart` jobs are started on.
struct PodNews {
  std::string_view fate;
  bool made = false;
  bool bootstrapped = false;
};
std::map<std::string, PodNews> NewsOf(const Plan& plan) {
  std::map<std::string, PodNews> all;
  for (const Change& change : plan.changes) {
    const std::string pod = PodNameOf(change.address);
    if (pod.empty()) continue;
    PodNews& news = all[pod];
    if (const std::string_view fate = FateOf(change); !fate.empty()) news.fate = fate;
    news.made = news.made || Makes(change);
    news.bootstrapped = news.bootstrapped || change.verb == Verb::kRun;
  }
  return all;
}

}  // namespace

std::vector<std::string> JobsAffected(const Spec& spec, const Plan& plan, const WantedJobs& wanted,
                                      FileSystem& files, const std::string& base,
                                      Diagnostics* problems) {
  if (spec.jobs.empty()) return {};
  const auto all = NewsOf(plan);
  const SyncDoors doors{files, *spec.withheld};
  std::vector<std::string> texts;
  for (const JobSpec& job : spec.jobs) {
    const auto found = all.find(job.pod);
    if (found == all.end()) continue;
    const PodNews& news = found->second;
    const bool starts = job.autostart && (news.made || news.bootstrapped);
    if (news.fate.empty() && !starts) continue;
    std::string text = fmt::format("{} is a job of {}, which {}", job.name, PodAddress(job.pod),
                                   news.fate.empty() ? "is bootstrapped" : news.fate);
    if (starts) text += news.made ? "; it is started then" : "; it is started then unless it runs";
    const auto of_pod = wanted.find(job.pod);
    const bool returns = !starts && news.made && ComesBack(job) && of_pod != wanted.end() &&
                         of_pod->second.contains(job.name) && ReturnsAfter(job, plan);
    if (returns) text += "; it comes back then, with the code that it was started with";
    if (!starts && !returns && news.made) {
      text += fmt::format("; `podctl run {}` starts it", job.name);
    }
    if (starts) text += TextOfStart(job, doors, base, problems);
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string JobWithOtherFiles(const std::vector<std::string>& before,
                              const std::vector<std::string>& now) {
  if (before.size() != now.size()) return "";
  std::string job;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (before[i] == now[i]) continue;
    if (before[i].substr(0, before[i].find(kSyncLine)) !=
        now[i].substr(0, now[i].find(kSyncLine))) {
      return "";
    }
    if (job.empty()) job = now[i].substr(0, now[i].find(' '));
  }
  return job;
}

namespace {

// What of a plan ends whatever runs on the pod; "" where nothing does.
std::string_view EndOfJobs(const Change& change) {
  if (const PodChange* pod = AsPod(change)) {
    if (!pod->lost.empty()) return "";  // with its node whatever ran there is gone already
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
      // As a status tells it, where the state has the start.
      const auto wanted = record->jobs.find(job.name);
      const bool known = wanted != record->jobs.end();
      lines.push_back(fmt::format(
          "{} was started on {} at {}, and no end of it is known here: {} ends it", job.name,
          PodAddress(pod), known ? VisibleControls(wanted->second.since) : job.started_at, end));
    }
  }
  return lines;
}

}  // namespace podctl
