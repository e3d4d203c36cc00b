#include "cmd/commands/run/prepare.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_rounds.h"
#include "cmd/views/byte_count.h"
#include "plans/fleet/cp/archive_feed.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"
#include "providers/os/this_process.h"
#include "providers/tar/archive.h"
#include "providers/tar/remote_texts.h"
#include "providers/workers/drain.h"
#include "providers/workers/jobs.h"
#include "providers/workers/probe.h"
#include "providers/workers/runs.h"
#include "providers/workers/words.h"

namespace podctl {
namespace {

using workers::Holder;

// Of a job that is asked to make room.
constexpr std::chrono::minutes kLongestGrace{60};
constexpr std::chrono::hours kLongestCopy{6};

void Remark(Wiring& wiring, const std::string& text) {
  if (wiring.options().json) {
    Value event = Value::EmptyMap();
    event.Set("format_version", "1.0");
    event.Set("type", "remark");
    event.Set("message", text);
    wiring.streams().out << ToJson(event) << '\n' << std::flush;
  } else {
    wiring.streams().err << text << '\n' << std::flush;
  }
}

bool Refuse(Wiring& wiring, const Error& error) {
  ShowError(wiring, nullptr, "", error);
  return false;
}

// All answered; else it is told who did not, and false.
bool AllAnswered(Wiring& wiring, std::vector<WorkerAnswer>* answers) {
  if (wiring.interrupt().requested()) return false;
  const bool all = std::all_of(answers->begin(), answers->end(),
                               [](const WorkerAnswer& answer) { return answer.result.ok(); });
  if (!all) ShowSilent(wiring, *answers);
  return all;
}

// "alice@laptop: podctl run b --drain-jobs": for the owner of what is ended.
std::string BecauseOf(const JobSpec& job) {
  return fmt::format("{}@{}: podctl run {} --drain-jobs", UserName(), HostName(), job.name);
}

// Asks each of these workers, for as long as an end with this grace may take. Such a text is at
// work until all is over, whoever is still there.
std::vector<WorkerAnswer> AskToEnd(Wiring& wiring, const PodTarget& target,
                                   std::vector<ssh::Job> jobs, std::chrono::seconds grace,
                                   const std::string& waits_for) {
  for (ssh::Job& job : jobs) job.ending = kEndsByItself;
  AskHooks hooks;
  hooks.waits_for = waits_for;
  PodRounds rounds(wiring, target.address);
  return rounds->Ask(jobs, grace + kKillTime + std::chrono::minutes(1), hooks);
}

bool EndEarlierRuns(Wiring& wiring, const ReadyLaunch& ready, const JobSpec& job,
                    const RunOptions& options, const std::string& run) {
  const std::string because = options.drain_jobs ? BecauseOf(job) : "";
  const std::string command =
      workers::EndRunsCommand({job.name, run, options.drain_jobs, because, job.grace});
  std::vector<ssh::Job> jobs;
  for (const WorkerAccess& worker : ready.workers) jobs.push_back({worker, command, nullptr});
  auto answers = AskToEnd(
      wiring, ready.target, std::move(jobs), job.grace,
      fmt::format("Waiting until nothing is left of an earlier run of {}; that may take {}.",
                  job.name, FormatDuration(job.grace)));
  const std::string& pod = ready.workers.front().pod;
  const int per_slice = ready.workers.front().per_slice;
  std::vector<int> where;
  std::vector<int> at_work;
  std::string owner;
  int count = 0;
  for (WorkerAnswer& answer : answers) {
    if (!answer.result.ok()) continue;
    const auto ended = workers::ParseEndRuns(answer.lines);
    if (!ended) {
      answer.result.outcome = ssh::Outcome::kLost;
      answer.result.message = ended.error().message;
    } else if (ended->at_work) {
      at_work.push_back(answer.worker.index);
      owner = *ended->at_work;
    } else if (ended->processes > 0) {
      where.push_back(answer.worker.index);
      count += ended->processes;
    }
  }
  if (count > 0) {
    Remark(wiring,
           fmt::format("{}: ended {} of an earlier run of {}.", WorkersName(pod, where, per_slice),
                       count == 1 ? "a process" : fmt::format("{} processes", count), job.name));
  }
  if (!AllAnswered(wiring, &answers)) return false;
  if (at_work.empty() || options.detach) return true;
  return Refuse(
      wiring,
      MakeError(
          ErrorCode::kAlreadyExists,
          fmt::format("job {} runs already on {}{}", job.name, WorkersName(pod, at_work, per_slice),
                      owner.empty() ? ", detached" : fmt::format(", started by {}", owner)),
          fmt::format("`podctl kill {} {}` ends it; `--drain-jobs` does so before the start.", pod,
                      job.name)));
}

// The chips of its host that a worker's process is to see; nullopt: all of them.
std::optional<std::set<int>> ChipsWanted(const std::map<std::string, std::string>& env) {
  for (const char* const name : {"TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES"}) {
    const auto found = env.find(name);
    if (found == env.end()) continue;
    std::set<int> chips;
    std::string_view rest = found->second;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      int chip = 0;
      if (!workers::ReadNumber(rest.substr(0, comma), &chip)) return std::nullopt;
      chips.insert(chip);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return chips;
  }
  return std::nullopt;
}

// Whether it holds one of them. Who holds libtpu's lock file only may be about to take any.
bool Meets(const Holder& holder, const std::optional<std::set<int>>& wanted) {
  if (!wanted) return true;
  const std::set<int> held = workers::ChipsOf(holder);
  return held.empty() ||
         std::any_of(held.begin(), held.end(), [&](int chip) { return wanted->contains(chip); });
}

// What holds the TPU of one worker, by what is to be done about it.
struct InTheWay {
  WorkerAccess worker;
  std::string user;  // as whom we are there
  std::vector<Holder> victims;
  std::vector<Holder> of_jobs;
  bool stale_lock = false;
};

InTheWay SortHolders(const WorkerAccess& worker, const workers::ProbeReport& probe,
                     const std::optional<std::set<int>>& wanted, const std::string& job,
                     std::vector<std::string>* foreign) {
  InTheWay found{worker, probe.user, {}, {}, !probe.lock_owner.empty() && probe.holders.empty()};
  for (const Holder& holder : probe.holders) {
    if (holder.owner == Holder::Owner::kRuntime || !Meets(holder, wanted)) continue;
    if (holder.owner == Holder::Owner::kJob && !holder.keeper.empty() &&
        holder.keeper != probe.user) {
      // It is kept in that user's home, and may have the name of one of ours: from here it can
      // neither be listed nor killed.
      foreign->push_back(fmt::format("{}: the TPU is held by the job {} of {} ({})", worker.Name(),
                                     holder.job, holder.keeper, workers::DescribeHolder(holder)));
    } else if (holder.owner == Holder::Owner::kJob) {
      // Of this job itself it was looked before what runs.
      if (holder.job != job) found.of_jobs.push_back(holder);
    } else if (holder.owner == Holder::Owner::kNobody && holder.user == probe.user) {
      found.victims.push_back(holder);
    } else {
      foreign->push_back(fmt::format("{}: the TPU is held by `{}` ({})", worker.Name(),
                                     holder.command, workers::DescribeHolder(holder)));
    }
  }
  return found;
}

// What is to be done about the holders that are processes of a job, by what the worker says of it;
// `told` is null where it knows no such job.
void SortJob(const workers::JobStatus* told, bool end_them, const std::string& name, InTheWay* each,
             std::vector<std::string>* foreign) {
  const bool runs = told != nullptr && told->state == workers::JobStatus::State::kRunning;
  if (end_them && told != nullptr) return;
  for (const Holder& holder : each->of_jobs) {
    if (holder.job != name) continue;
    // What a job of ours has left. Without its keeper's name only the user speaks for that.
    if (!runs && (holder.keeper == each->user || holder.user == each->user)) {
      each->victims.push_back(holder);
      continue;
    }
    foreign->push_back(fmt::format("{}: the TPU is held by the job {} ({})", each->worker.Name(),
                                   holder.job, workers::DescribeHolder(holder)));
  }
}

// Jobs of podctl: those at work are ended if that is wanted, else told in `foreign`; what is left
// of others becomes a victim.
bool SortJobs(Wiring& wiring, const ReadyLaunch& ready, const JobSpec& job, bool end_them,
              std::vector<InTheWay>* found, std::vector<std::string>* foreign) {
  std::vector<ssh::Job> asked;
  std::vector<std::pair<InTheWay*, std::string>> whose;
  for (InTheWay& each : *found) {
    std::set<std::string> names;
    for (const Holder& holder : each.of_jobs) names.insert(holder.job);
    for (const std::string& name : names) {
      if (!workers::IsJobName(name)) {
        SortJob(nullptr, end_them, name, &each, foreign);
        continue;
      }
      asked.push_back({each.worker,
                       end_them ? workers::KillCommand({name, std::nullopt, BecauseOf(job)})
                                : workers::ListCommand(name),
                       nullptr});
      whose.emplace_back(&each, name);
    }
  }
  if (asked.empty()) return true;
  auto answers = AskToEnd(wiring, ready.target, std::move(asked), kLongestGrace,
                          end_them ? "Waiting until the jobs in the way have ended." : "");
  if (!AllAnswered(wiring, &answers)) return false;
  std::map<std::string, std::vector<int>> ended;  // the job's name: where
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& [each, name] = whose[i];
    const auto jobs = workers::ParseJobs(answers[i].lines);
    if (!jobs) return Refuse(wiring, jobs.error());
    const auto told = std::find_if(jobs->begin(), jobs->end(),
                                   [&](const auto& status) { return status.name == name; });
    const bool is_known = told != jobs->end();
    if (end_them && is_known) ended[name].push_back(each->worker.index);
    SortJob(is_known ? &*told : nullptr, end_them, name, each, foreign);
  }
  const WorkerAccess& any = ready.workers.front();
  for (const auto& [name, where] : ended) {
    Remark(wiring,
           fmt::format("{}: ended the job {}.", WorkersName(any.pod, where, any.per_slice), name));
  }
  return true;
}

bool RefuseForeign(Wiring& wiring, const std::string& pod,
                   const std::vector<std::string>& foreign) {
  const std::size_t more = foreign.size() - 1;
  return Refuse(
      wiring,
      MakeError(ErrorCode::kFailedPrecondition,
                foreign.front() + (more > 0 ? fmt::format(", and {} more", more) : ""),
                fmt::format("It is not this job's to end. `podctl drain {0}` shows and ends them "
                            "(`--jobs`: jobs too, anybody's), `podctl kill {0} NAME` ends a job of "
                            "yours, `--drain-jobs` all of yours that are in the way; `--no-drain` "
                            "starts beside them.",
                            pod)));
}

bool EndHolders(Wiring& wiring, const ReadyLaunch& ready, const JobSpec& job, bool end_jobs) {
  PodRounds rounds(wiring, ready.target.address);
  auto answers = rounds->Ask(ready.workers, workers::ProbeCommand({}));
  std::vector<InTheWay> found;
  std::vector<std::string> foreign;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    WorkerAnswer& answer = answers[i];
    if (!answer.result.ok()) continue;
    const auto probe = workers::ParseProbe(answer.lines);
    if (!probe) {
      answer.result.outcome = ssh::Outcome::kLost;
      answer.result.message = "its answer to the probe cannot be read";
      continue;
    }
    found.push_back(SortHolders(answer.worker, *probe, ChipsWanted(ready.launch.workers[i].env),
                                job.name, &foreign));
  }
  if (!AllAnswered(wiring, &answers)) return false;
  // Before anything is ended it must be clear that the job can start then.
  if (!foreign.empty()) return RefuseForeign(wiring, ready.workers.front().pod, foreign);
  if (!SortJobs(wiring, ready, job, end_jobs, &found, &foreign)) return false;
  if (!foreign.empty()) return RefuseForeign(wiring, ready.workers.front().pod, foreign);
  std::vector<ssh::Job> drains;
  for (const InTheWay& each : found) {
    if (each.victims.empty() && !each.stale_lock) continue;
    for (const Holder& victim : each.victims) {
      Remark(wiring, fmt::format("{}: ending {}: {}", each.worker.Name(),
                                 workers::DescribeHolder(victim), victim.command));
    }
    drains.push_back({each.worker, workers::DrainCommand(each.victims, job.grace), nullptr});
  }
  if (drains.empty()) return true;
  auto ended = AskToEnd(wiring, ready.target, std::move(drains), job.grace, "");
  return AllAnswered(wiring, &ended);
}

// ---- sync

std::string WithoutSlashes(std::string_view pattern) {
  if (pattern.starts_with("./")) pattern.remove_prefix(2);
  while (pattern.size() > 1 && pattern.ends_with('/')) pattern.remove_suffix(1);
  return std::string(pattern);
}

// Of one entry of `sync`: what is packed, and how its names begin in the archive.
struct Packing {
  std::vector<std::string> sources;
  bool is_folder = false;
};

Result<Packing> PackingOf(FileSystem& files, const JobSync& sync) {
  const auto info = files.Stat(sync.source);
  if (!info) {
    return MakeError(info.error().code,
                     fmt::format("`sync`: {}: {}", sync.source, info.error().message),
                     info.error().hint);
  }
  Packing packing;
  packing.is_folder = info->kind == FileInfo::Kind::kFolder;
  if (!packing.is_folder) {
    packing.sources = {sync.source};
    return packing;
  }
  const auto names = files.List(sync.source);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (!IsExcluded(sync.exclude, name)) {
      packing.sources.push_back(fmt::format("{}/{}", sync.source, name));
    }
  }
  return packing;
}

bool SyncOne(Wiring& wiring, const PodTarget& target, const std::vector<WorkerAccess>& chosen,
             const JobSync& sync) {
  const auto packing = PackingOf(wiring.files(), sync);
  if (!packing) return Refuse(wiring, packing.error());
  auto archive = tar::Archive::Of(wiring.files(), packing->sources, [&](std::string_view name) {
    return IsExcluded(sync.exclude, name);
  });
  if (!archive) return Refuse(wiring, archive.error());
  ArchiveFeed feed(**archive);
  const bool into = packing->is_folder || sync.destination.ends_with('/');
  const std::string command = tar::UnpackCommand(sync.destination, into);
  std::vector<ssh::Job> jobs;
  for (const WorkerAccess& worker : chosen) jobs.push_back({worker, command, nullptr, &feed});
  PodRounds rounds(wiring, target.address);
  auto answers = rounds->Ask(jobs, kLongestCopy);
  if (!AllAnswered(wiring, &answers)) return false;
  if (const auto trouble = (*archive)->trouble()) return Refuse(wiring, *trouble);
  Remark(wiring, fmt::format("Copied {} to {} on {}: {}, {}.", sync.source, sync.destination,
                             Plural(chosen.size(), "worker"), Plural((*archive)->files(), "file"),
                             ByteCount((*archive)->bytes())));
  return true;
}

}  // namespace

bool IsExcluded(const std::vector<std::string>& patterns, std::string_view path) {
  const std::string whole(path);
  const std::string name = whole.substr(whole.rfind('/') + 1);
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& each) {
    std::string pattern = WithoutSlashes(each);
    if (pattern.find('/') == std::string::npos) {
      return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    }
    if (pattern.starts_with('/')) pattern.erase(0, 1);
    return fnmatch(pattern.c_str(), whole.c_str(), FNM_PATHNAME) == 0;
  });
}

bool DrainForJob(Wiring& wiring, const ReadyLaunch& ready, const JobSpec& job,
                 const RunOptions& options, const std::string& run) {
  if (!EndEarlierRuns(wiring, ready, job, options, run)) return false;
  return job.launcher == Launcher::kShell || EndHolders(wiring, ready, job, options.drain_jobs);
}

bool SyncForJob(Wiring& wiring, const PodTarget& target, const std::vector<WorkerAccess>& workers,
                const JobSpec& job) {
  return std::all_of(job.sync.begin(), job.sync.end(),
                     [&](const JobSync& sync) { return SyncOne(wiring, target, workers, sync); });
}

}  // namespace podctl
