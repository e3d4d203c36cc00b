#include "cmd/views/launch_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cmd/interrupt.h"
#include "cmd/views/counted_workers.h"
#include "cmd/views/documents.h"
#include "cmd/views/exec_progress.h"
#include "cmd/views/table.h"
#include "plans/fleet/worker_round.h"
#include "plans/jobs/command_text.h"
#include "plans/jobs/launch.h"
#include "plans/spec/devices.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

constexpr std::string_view kHidden = "(sensitive value)";

std::string Shown(const Launch& launch, const std::string& name, const std::string& value) {
  return launch.secret_env.contains(name) ? std::string(kHidden) : value;
}

struct Group {
  const WorkerLaunch* launch;
  std::vector<const WorkerLaunch*> all;
  std::vector<int> workers;
};

// Variables that each worker has another value of, its rank above all: they keep no workers apart
// that are equal otherwise.
std::set<std::string> OwnVariables(const Launch& launch) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> counts;
  for (const WorkerLaunch& worker : launch.workers) {
    for (const auto& [name, value] : worker.env) {
      values[name].insert(value);
      ++counts[name];
    }
  }
  std::set<std::string> own;
  for (const auto& [name, different] : values) {
    const bool everywhere = counts[name] == launch.workers.size();
    if (everywhere && different.size() > 1 && different.size() == counts[name]) own.insert(name);
  }
  return own;
}

std::vector<Group> GroupsOf(const Launch& launch, const std::set<std::string>& own) {
  const auto alike = [&](const WorkerLaunch& a, const WorkerLaunch& b) {
    return a.script == b.script &&
           std::equal(a.env.begin(), a.env.end(), b.env.begin(), b.env.end(),
                      [&](const auto& left, const auto& right) {
                        return left.first == right.first &&
                               (left.second == right.second || own.contains(left.first));
                      });
  };
  std::vector<Group> groups;
  for (const WorkerLaunch& worker : launch.workers) {
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const Group& group) { return alike(*group.launch, worker); });
    if (same == groups.end()) same = groups.insert(groups.end(), {&worker, {}, {}});
    same->all.push_back(&worker);
    same->workers.push_back(worker.worker);
  }
  return groups;
}

// The values of the group's workers, in their order: "0, 1, 2, 3", of many the first and the last.
std::string ValuesOf(const Group& group, const Launch& launch, const std::string& name) {
  constexpr std::size_t kMostShown = 8;
  std::vector<std::string> shown;
  const std::size_t count = group.all.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kMostShown && i >= kMostShown / 2 && i + 1 < count) continue;
    if (count > kMostShown && i + 1 == count) shown.emplace_back("…");
    shown.push_back(ShellQuote(Shown(launch, name, group.all[i]->env.at(name))));
  }
  return Join(shown, ", ") + (count > 1 ? "  (in turn)" : "");
}

std::string NameOf(const LaunchPod* pod, const std::vector<int>& workers) {
  return pod == nullptr ? "this machine" : WorkersName(pod->name, workers, pod->per_slice);
}

std::string Indented(const std::string& text) {
  std::string lines;
  for (const std::string& line : SplitLines(text)) {
    lines += line.empty() ? "\n" : fmt::format("    {}\n", line);
  }
  return lines;
}

std::string SyncLine(const JobSync& sync) {
  std::string line = fmt::format("{} to {}", sync.source, sync.destination);
  if (!sync.exclude.empty()) line += fmt::format(", without {}", Join(sync.exclude, ", "));
  return line;
}

std::string RestartLine(const JobRestart& restart) {
  std::vector<std::string> reasons;
  for (const RestartReason reason : restart.on) reasons.emplace_back(RestartReasonName(reason));
  const std::string times =
      fmt::format("at most {} times, on {}; ", restart.attempts, Join(reasons, ", "));
  if (restart.backoff == std::chrono::seconds(0)) return times + "at once";
  const std::string after = fmt::format("{}after {}", times, FormatDuration(restart.backoff));
  if (restart.LongestPause() == restart.backoff) return after;
  return fmt::format("{}, twice as long each time where they follow within a minute, up to {}",
                     after, FormatDuration(restart.LongestPause()));
}

bool StartsAgain(const JobRestart& restart) {
  return restart.attempts > 0 && !restart.on.empty();
}

Value RestartDocument(const JobRestart& restart) {
  return Value::Map{
      {"attempts", restart.attempts},
      {"on", ListOf(restart.on, [](RestartReason each) { return Value(RestartReasonName(each)); })},
      {"backoff_seconds", std::int64_t{restart.backoff.count()}}};
}

std::string CommandAsWritten(const JobSpec& job) {
  return TemplateAsWritten(CommandText(job, FlagWords(job)));
}

}  // namespace

std::string ShowLaunch(const JobSpec& job, const LaunchPod* pod, const Launch& launch) {
  std::string text =
      fmt::format("Job {}, launcher {}, on {}\n", job.name, LauncherName(job.launcher),
                  pod == nullptr ? "this machine" : "pod." + pod->name);
  const auto host = pod == nullptr ? std::nullopt : HostOf(pod->node);
  if (const std::string seen = host ? DescribeVisible(job.devices, *host) : ""; !seen.empty()) {
    text += fmt::format("On each worker {}.\n", seen);
  }
  if (pod != nullptr && pod->guessed) {
    text += "The pod is not there yet: its addresses are known after apply.\n";
  }
  const std::set<std::string> own = OwnVariables(launch);
  for (const Group& group : GroupsOf(launch, own)) {
    text += fmt::format("\n{}:\n", NameOf(pod, group.workers));
    if (!group.launch->env.empty()) text += "  variables:\n";
    for (const auto& [name, value] : group.launch->env) {
      text += fmt::format("    {}={}\n", name,
                          own.contains(name) ? ValuesOf(group, launch, name)
                                             : ShellQuote(Shown(launch, name, value)));
    }
    text += "  runs:\n" + Indented(group.launch->script);
  }
  for (const LaunchFile& file : launch.files) {
    text += fmt::format("\n~/{}/{}:\n{}", RunFolder(job.name), file.name, Indented(file.text));
  }
  if (pod == nullptr) return text;
  if (!job.sync.empty()) text += "\nBefore the start these are copied:\n";
  for (const JobSync& sync : job.sync) text += fmt::format("  {}\n", SyncLine(sync));
  if (StartsAgain(job.restart)) {
    text += fmt::format("\nIt is started again {}.\n", RestartLine(job.restart));
  }
  if (job.restart.hang) {
    text += fmt::format("\nWithout a line of any worker for {} it is ended.\n",
                        FormatDuration(*job.restart.hang));
  }
  if (!job.logs.empty()) {
    text +=
        fmt::format("\nStarted detached, it has its log kept in {}.\n", VisibleControls(job.logs));
  }
  return text;
}

Value LaunchDocument(const JobSpec& job, const LaunchPod* pod, const Launch& launch) {
  const auto worker = [&](const WorkerLaunch& each) {
    Value variables = Value::EmptyMap();
    for (const auto& [name, value] : each.env) variables.Set(name, Shown(launch, name, value));
    Value entry = Value::Map{{"variables", variables}, {"script", each.script}};
    if (pod != nullptr) entry.Set("worker", each.worker);
    return entry;
  };
  const auto file = [&](const LaunchFile& each) {
    return Value::Map{{"path", fmt::format("~/{}/{}", RunFolder(job.name), each.name)},
                      {"text", each.text}};
  };
  const auto sync = [](const JobSync& each) {
    return Value::Map{{"source", each.source},
                      {"destination", each.destination},
                      {"exclude", ListOf(each.exclude)}};
  };
  Value document =
      Value::Map{{"format_version", "1.0"},
                 {"job", job.name},
                 {"launcher", LauncherName(job.launcher)},
                 {"local", pod == nullptr},
                 {"workers", ListOf(launch.workers, worker)},
                 {"files", ListOf(launch.files, file)},
                 {"sync", pod == nullptr ? Value::EmptyList() : ListOf(job.sync, sync)}};
  if (pod == nullptr) return document;
  document.Set("pod", pod->name);
  document.Set("addresses_known", !pod->guessed);
  const auto& hang = job.restart.hang;
  document.Set("restart", StartsAgain(job.restart) ? RestartDocument(job.restart) : Value());
  document.Set("hang_seconds", hang ? Value(std::int64_t{hang->count()}) : Value());
  return document;
}

std::string JobsOfSpecTable(const std::vector<JobSpec>& jobs) {
  std::vector<TableRow> table = {{"JOB", "POD", "LAUNCHER  ", "COMMAND"}};
  for (const JobSpec& job : jobs) {
    // A row is a line.
    std::string command = CommandAsWritten(job);
    if (const auto end = command.find('\n'); end != std::string::npos) {
      command.replace(end, std::string::npos, " …");
    }
    table.push_back(
        {job.name, job.pod, std::string(LauncherName(job.launcher)), std::move(command)});
  }
  return TableText(table);
}

Value JobsOfSpecDocument(const std::vector<JobSpec>& jobs) {
  const auto document = [](const JobSpec& job) {
    return Value::Map{{"name", job.name},
                      {"pod", job.pod},
                      {"launcher", LauncherName(job.launcher)},
                      {"command", CommandAsWritten(job)},
                      {"autostart", job.autostart}};
  };
  return Value::Map{{"format_version", "1.0"}, {"jobs", ListOf(jobs, document)}};
}

namespace {

using ssh::Outcome;

std::vector<int> WorkersThat(const AttemptResult& result, Outcome outcome) {
  std::vector<int> workers;
  for (std::size_t i = 0; i < result.outcome.results.size(); ++i) {
    if (result.outcome.results[i].outcome != outcome) continue;
    workers.push_back(result.outcome.jobs[i].worker.index);
  }
  return workers;
}

// Whom podctl ended, and whom it asked to: what the workers themselves saw of it.
std::string EndedLines(const AttemptResult& result, int per_slice) {
  std::vector<int> ended;
  std::vector<int> asked;
  for (std::size_t i = 0; i < result.outcome.results.size(); ++i) {
    const ssh::WorkerResult& each = result.outcome.results[i];
    // Who was silent is the cause, whatever has become of it since.
    if (each.outcome != Outcome::kCancelled || (result.told && result.first == i)) continue;
    (each.ended ? ended : asked).push_back(result.outcome.jobs[i].worker.index);
  }
  const std::string why = result.first && !result.outcome.interrupted ? " because of it" : "";
  const auto were = [&](const std::vector<int>& workers) {
    return CountedWorkers(workers, per_slice) + (workers.size() == 1 ? " was" : " were");
  };
  std::string text;
  if (!ended.empty()) {
    text += fmt::format("{} ended{}\n", were(ended), why);
  }
  if (!asked.empty()) {
    const bool follows = result.kill_in && result.kill_in->count() > 0;
    text +=
        fmt::format("{} asked to end{}, still at it{}\n", were(asked), why,
                    follows ? fmt::format(" (KILL in {})", FormatDuration(*result.kill_in)) : "");
  }
  return text;
}

// Those that failed by themselves, but for the first, by cause.
WorkerGroups LaterFailures(const AttemptResult& result) {
  WorkerGroups groups;
  for (std::size_t i = 0; i < result.outcome.results.size(); ++i) {
    const ssh::WorkerResult& each = result.outcome.results[i];
    if (each.ok() || IsConsequence(each) || result.first == i) continue;
    groups.Add(CauseOfEnd(each), result.outcome.jobs[i].worker.index);
  }
  return groups;
}

// Of a start that did not end well everywhere.
std::string WellLine(const AttemptResult& result, int per_slice) {
  std::vector<int> well;
  for (std::size_t i = 0; i < result.outcome.results.size(); ++i) {
    const ssh::WorkerResult& each = result.outcome.results[i];
    if (each.ok()) well.push_back(result.outcome.jobs[i].worker.index);
  }
  if (!result.started || well.empty() || well.size() == result.outcome.results.size()) return {};
  return fmt::format("{} ended well\n", CountedWorkers(well, per_slice));
}

std::string FirstLine(const AttemptResult& result) {
  const ssh::Job& job = result.outcome.jobs[*result.first];
  const std::string cause = CauseOfFirst(result);
  if (!result.started) {
    return fmt::format("{} could not be made ready: {}\n", job.worker.Name(), cause);
  }
  const bool alone = result.outcome.jobs.size() == 1;
  return fmt::format("{} failed{}, {} after the start: {}\n", job.worker.Name(),
                     alone ? "" : " first", FormatDuration(result.first_after), cause);
}

}  // namespace

std::string FailureText(const std::string& worker, const std::string& cause,
                        std::optional<std::chrono::seconds> aftermath) {
  if (!aftermath) return fmt::format("{} failed: {}. The others go on.", worker, cause);
  if (aftermath->count() == 0) {
    return fmt::format("{} failed: {}. The others are ended.", worker, cause);
  }
  return fmt::format("{} failed: {}. Who of the others has not ended {} later is ended then.",
                     worker, cause, FormatDuration(*aftermath));
}

std::string NodeRestartText(const AttemptResult& ended, int restart, int most,
                            const JobVerdict& why) {
  const auto& jobs = ended.outcome.jobs;
  std::vector<int> workers;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ssh::WorkerResult& each = ended.outcome.results[i];
    // Whatever else became of a worker is news.
    const bool by_it = IsConsequence(each) || each.outcome == Outcome::kLost ||
                       each.outcome == Outcome::kUnreachable;
    if (!each.ok() && !by_it) return {};
    if (!each.ok()) workers.push_back(jobs[i].worker.index);
  }
  if (workers.empty()) return {};
  return fmt::format("{} That ended the job on {}: {}. Restart {} of {}, on {}.",
                     Sentence(why.because), Plural(workers.size(), "worker"),
                     FormatWorkers(workers, jobs.front().worker.per_slice), restart, most,
                     RestartReasonName(why.reason));
}

std::string RunSummary(const AttemptResult& result) {
  const auto& jobs = result.outcome.jobs;
  const int per_slice = jobs.empty() ? 0 : jobs.front().worker.per_slice;
  std::string text;
  if (!result.ended_by.empty()) text += fmt::format("The job was ended by {}.\n", result.ended_by);
  if (result.reported)
    text += fmt::format("The job was ended, since {}.\n", result.reported->because);
  if (!result.stalled.empty()) {
    text += fmt::format("The job was ended, since {}.\n", result.stalled);
  }
  if (result.first) text += FirstLine(result);
  const WorkerGroups later = LaterFailures(result);
  for (const auto& group : later.groups()) {
    text += fmt::format("{} {}: {}\n", CountedWorkers(group.workers, per_slice),
                        result.first ? "failed too" : "ended", group.what);
  }
  text += EndedLines(result, per_slice);
  text += WellLine(result, per_slice);
  const std::vector<int> unstarted = WorkersThat(result, Outcome::kSkipped);
  if (!unstarted.empty()) {
    text += fmt::format("Nothing was started on {}: {}\n",
                        unstarted.size() == 1 ? "1 worker that was well"
                                              : fmt::format("{} others", unstarted.size()),
                        FormatWorkers(unstarted, per_slice));
  }
  return text;
}

Value RunSummaryEvent(const AttemptResult& result, int exit_code, int restarts) {
  Value event = ExecSummaryEvent(result.outcome, exit_code, result.elapsed, CauseOfEnd);
  event.Set("started", result.started);
  event.Set("restarts", restarts);
  if (!result.ended_by.empty()) event.Set("ended_by", result.ended_by);
  const std::string because = result.reported ? result.reported->because : result.stalled;
  if (!because.empty()) event.Set("ended_since", because);
  if (result.first) {
    const ssh::Job& job = result.outcome.jobs[*result.first];
    event.Set("first",
              Value::Map{{"worker", job.worker.index},
                         {"cause", CauseOfFirst(result)},
                         {"after_ms", static_cast<std::int64_t>(result.first_after.count())}});
  }
  return event;
}

int RunExitCode(const AttemptResult& result) {
  if (result.outcome.interrupted) return kInterruptedExitCode;
  std::set<int> codes;
  bool all_ok = true;
  for (std::size_t i = 0; i < result.outcome.results.size(); ++i) {
    const ssh::WorkerResult& each = result.outcome.results[i];
    all_ok = all_ok && each.ok();
    if (each.ok() || IsConsequence(each)) continue;
    const bool by_itself =
        each.outcome == Outcome::kExited && !(result.first == i && IsFirstByMachine(result));
    codes.insert(by_itself ? each.exit_code : -1);
  }
  if (all_ok) return 0;
  const bool agreed = codes.size() == 1 && *codes.begin() > 0;
  return agreed && result.started ? *codes.begin() : 1;
}

}  // namespace podctl
