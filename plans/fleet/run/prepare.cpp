#include "plans/fleet/run/prepare.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plans/fleet/cp/copy.h"
#include "plans/fleet/kept_logs.h"
#include "plans/jobs/command_text.h"
#include "providers/base/digest.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/os/input_file.h"
#include "providers/tar/archive.h"
#include "providers/tar/remote_texts.h"
#include "providers/workers/drain.h"
#include "providers/workers/jobs.h"
#include "providers/workers/runs.h"
#include "providers/workers/shell.h"

namespace podctl {
namespace {

using workers::Holder;

// Of a job that is asked to make room.
constexpr std::chrono::minutes kLongestMakeRoom{60};
constexpr std::chrono::hours kLongestCopy{6};

Blocker Refusal(Error error) {
  return {std::move(error), {}};
}

// nullopt: all answered.
std::optional<Blocker> WhoIsSilent(const WorkerRounds& rounds, std::vector<WorkerAnswer> answers) {
  if (rounds.stopped()) return Blocker{};
  if (AllAnswered(answers)) return std::nullopt;
  return Blocker{std::nullopt, std::move(answers)};
}

SomeOf These(const ReadyLaunch& ready, std::vector<int> numbers) {
  const WorkerAccess& any = ready.workers.front();
  return {any.pod, any.per_slice, std::move(numbers)};
}
std::string NameOf(const SomeOf& some) {
  return WorkersName(some.pod, some.workers, some.per_slice);
}

// "alice@laptop: podctl run b --drain-jobs": for the owner of what is ended.
std::string BecauseOf(const JobSpec& job, const DrainRequest& request) {
  return fmt::format("{}: podctl run {} --drain-jobs", request.owner, job.name);
}

// Asks each of these workers, for as long as an end with this grace may take. Such a text is at
// work until all is over, whoever is still there.
std::vector<WorkerAnswer> AskToEnd(WorkerRounds& rounds, std::vector<ssh::Job> jobs,
                                   std::chrono::seconds grace, const std::string& waits_for) {
  for (ssh::Job& job : jobs) job.ending = kEndsByItself;
  AskHooks hooks;
  hooks.words.waits_for = waits_for;
  return rounds.Ask(jobs, grace + kKillTime + std::chrono::minutes(1), hooks);
}

std::optional<Blocker> EndEarlierRuns(WorkerRounds& rounds, const ReadyLaunch& ready,
                                      const JobSpec& job, const DrainRequest& request,
                                      const PrepareListener& tell) {
  const std::string because = request.end_jobs ? BecauseOf(job, request) : "";
  const std::string command =
      workers::EndRunsCommand({job.name, request.run, request.end_jobs, because, job.grace});
  std::vector<ssh::Job> jobs;
  for (const WorkerAccess& worker : ready.workers) jobs.push_back({worker, command, nullptr});
  auto answers = AskToEnd(
      rounds, std::move(jobs), job.grace,
      fmt::format("Waiting until nothing is left of an earlier run of {}; that may take {}.",
                  job.name, FormatDuration(job.grace)));
  EarlierRunEnded news{job.name, These(ready, {}), 0};
  SomeOf at_work = These(ready, {});
  std::string owner;
  for (WorkerAnswer& answer : answers) {
    if (!answer.result.ok()) continue;
    const auto ended = workers::ParseEndRuns(answer.lines);
    if (!ended) {
      answer.Spoil(ended.error().message);
    } else if (ended->at_work) {
      at_work.workers.push_back(answer.worker.index);
      owner = *ended->at_work;
    } else if (ended->processes > 0) {
      news.where.workers.push_back(answer.worker.index);
      news.processes += ended->processes;
    }
  }
  if (news.processes > 0) tell(news);
  if (auto silent = WhoIsSilent(rounds, std::move(answers))) return silent;
  if (at_work.workers.empty() || request.detached) return std::nullopt;
  return Refusal(
      MakeError(ErrorCode::kAlreadyExists,
                fmt::format("job {} runs already on {}{}", job.name, NameOf(at_work),
                            owner.empty() ? ", detached" : fmt::format(", started by {}", owner)),
                fmt::format("`podctl kill {} {}` ends it; `--drain-jobs` does so before the start.",
                            at_work.pod, job.name)));
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
struct WorkerConflicts {
  WorkerAccess worker;
  std::string user;  // as whom we are there
  std::vector<Holder> victims;
  std::vector<Holder> of_jobs;
  bool stale_lock = false;
};

WorkerConflicts SortHolders(const WorkerAccess& worker, const workers::ProbeReport& probe,
                            const std::optional<std::set<int>>& wanted, const std::string& job,
                            std::vector<std::string>* foreign) {
  WorkerConflicts found{
      worker, probe.user, {}, {}, !probe.lock_owner.empty() && probe.holders.empty()};
  for (const Holder& holder : probe.holders) {
    if (holder.owner == Holder::Owner::kRuntime || !Meets(holder, wanted)) continue;
    if (holder.owner == Holder::Owner::kJob && !holder.job_user.empty() &&
        holder.job_user != probe.user) {
      // It is kept in that user's home, and may have the name of one of ours: from here it can
      // neither be listed nor killed.
      foreign->push_back(fmt::format("{}: the TPU is held by the job {} of {} ({})", worker.Name(),
                                     holder.job, holder.job_user, workers::DescribeHolder(holder)));
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
// `reported` is null where it knows no such job.
void SortJob(const workers::JobStatus* reported, bool end_them, const std::string& name,
             WorkerConflicts* each, std::vector<std::string>* foreign) {
  const bool runs = reported != nullptr && reported->state == workers::JobStatus::State::kRunning;
  if (end_them && reported != nullptr) return;
  for (const Holder& holder : each->of_jobs) {
    if (holder.job != name) continue;
    // What a job of ours has left. Without its user's name only the user speaks for that.
    if (!runs && (holder.job_user == each->user || holder.user == each->user)) {
      each->victims.push_back(holder);
      continue;
    }
    foreign->push_back(fmt::format("{}: the TPU is held by the job {} ({})", each->worker.Name(),
                                   holder.job, workers::DescribeHolder(holder)));
  }
}

// Jobs of podctl: those at work are ended if that is wanted, else told in `foreign`; what is left
// of others becomes a victim.
std::optional<Blocker> SortJobs(WorkerRounds& rounds, const ReadyLaunch& ready, const JobSpec& job,
                                const DrainRequest& request, std::vector<WorkerConflicts>* found,
                                std::vector<std::string>* foreign, const PrepareListener& tell) {
  const bool end_them = request.end_jobs;
  std::vector<ssh::Job> asked;
  std::vector<std::pair<WorkerConflicts*, std::string>> whose;
  for (WorkerConflicts& each : *found) {
    std::set<std::string> names;
    for (const Holder& holder : each.of_jobs) names.insert(holder.job);
    for (const std::string& name : names) {
      if (!workers::IsJobName(name)) {
        SortJob(nullptr, end_them, name, &each, foreign);
        continue;
      }
      asked.push_back({each.worker,
                       end_them
                           ? workers::KillCommand({name, std::nullopt, BecauseOf(job, request)})
                           : workers::ListCommand(name),
                       nullptr});
      whose.emplace_back(&each, name);
    }
  }
  if (asked.empty()) return std::nullopt;
  const auto answers = AskToEnd(rounds, std::move(asked), kLongestMakeRoom,
                                end_them ? "Waiting until the jobs in the way have ended." : "");
  if (auto silent = WhoIsSilent(rounds, answers)) return silent;
  std::map<std::string, std::vector<int>> ended;  // the job's name: where
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& each = whose[i].first;  // not taken apart: clang 14 lets no lambda capture a part
    const auto& name = whose[i].second;
    const auto jobs = workers::ParseJobs(answers[i].lines);
    if (!jobs) return Refusal(jobs.error());
    const auto reported = std::find_if(jobs->begin(), jobs->end(),
                                       [&](const auto& status) { return status.name == name; });
    const bool is_known = reported != jobs->end();
    if (end_them && is_known) ended[name].push_back(each->worker.index);
    SortJob(is_known ? &*reported : nullptr, end_them, name, each, foreign);
  }
  for (auto& [name, where] : ended) tell(ConflictingJobEnded{name, These(ready, std::move(where))});
  return std::nullopt;
}

Blocker RefuseForeign(const std::string& pod, const std::vector<std::string>& foreign) {
  const std::size_t more = foreign.size() - 1;
  return Refusal(
      MakeError(ErrorCode::kFailedPrecondition,
                foreign.front() + (more > 0 ? fmt::format(", and {} more", more) : ""),
                fmt::format("It is not this job's to end. `podctl drain {0}` shows and ends them "
                            "(`--jobs`: jobs too, anybody's), `podctl kill {0} NAME` ends a job of "
                            "yours, `--drain-jobs` all of yours that are in the way; `--no-drain` "
                            "starts beside them.",
                            pod)));
}

std::optional<Blocker> EndHolders(WorkerRounds& rounds, const ReadyLaunch& ready,
                                  const JobSpec& job, const DrainRequest& request,
                                  const PrepareListener& tell) {
  auto answers = rounds.Ask(ready.workers, workers::ProbeCommand({}));
  std::vector<WorkerConflicts> found;
  std::vector<std::string> foreign;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    WorkerAnswer& answer = answers[i];
    if (!answer.result.ok()) continue;
    const auto probe = workers::ParseProbe(answer.lines);
    if (!probe) {
      answer.Spoil("its answer to the probe cannot be read");
      continue;
    }
    found.push_back(SortHolders(answer.worker, *probe, ChipsWanted(ready.launch.workers[i].env),
                                job.name, &foreign));
  }
  if (auto silent = WhoIsSilent(rounds, std::move(answers))) return silent;
  // Before anything is ended it must be clear that the job can start then.
  const std::string& pod = ready.workers.front().pod;
  if (!foreign.empty()) return RefuseForeign(pod, foreign);
  if (auto why = SortJobs(rounds, ready, job, request, &found, &foreign, tell)) return why;
  if (!foreign.empty()) return RefuseForeign(pod, foreign);
  std::vector<ssh::Job> drains;
  for (const WorkerConflicts& each : found) {
    if (each.victims.empty() && !each.stale_lock) continue;
    for (const Holder& victim : each.victims) tell(HolderEnding{each.worker, victim});
    drains.push_back({each.worker, workers::DrainCommand(each.victims, job.grace), nullptr});
  }
  if (drains.empty()) return std::nullopt;
  return WhoIsSilent(rounds, AskToEnd(rounds, std::move(drains), job.grace, ""));
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

std::optional<Blocker> SyncOne(WorkerRounds& rounds, const SyncDoors& doors,
                               const std::vector<WorkerAccess>& chosen, const JobSync& sync,
                               const PrepareListener& tell) {
  FileSystem& files = doors.files;
  const CopySource within(doors.withheld, sync.source);
  if (const auto takes = within.Takes(sync.source); !takes) return Refusal(takes.error());
  const auto packing = PackingOf(files, sync);
  if (!packing) return Refusal(packing.error());
  auto archive = tar::Archive::Of(
      files, packing->sources,
      [&](std::string_view name) { return IsExcluded(sync.exclude, name); }, &within);
  if (!archive) return Refusal(archive.error());
  ArchiveFeed feed(**archive);
  const bool into = packing->is_folder || sync.destination.ends_with('/');
  const std::string command = tar::UnpackCommand(sync.destination, into);
  std::vector<ssh::Job> jobs;
  for (const WorkerAccess& worker : chosen) jobs.push_back({worker, command, nullptr, &feed});
  AskHooks hooks;
  const std::string& shown = sync.shown.empty() ? sync.source : sync.shown;
  hooks.words.doing = fmt::format("copying {}", shown);
  if (auto silent = WhoIsSilent(rounds, rounds.Ask(jobs, kLongestCopy, hooks))) return silent;
  if (const auto trouble = (*archive)->trouble()) return Refusal(*trouble);
  tell(FilesCopied{shown, sync.destination, chosen.size(), (*archive)->files(),
                   (*archive)->bytes()});
  return std::nullopt;
}

// Hashes what is walked through.
class SyncReader {
 public:
  explicit SyncReader(const CopySource& within) : within_(within) {}

  Result<void> Add(const std::string& path, const std::string& name, const FileInfo& info) {
    if (++entries_ > tar::Archive::kMaxEntries) {
      return MakeError(ErrorCode::kOutOfRange, fmt::format("more than {} files and folders to copy",
                                                           tar::Archive::kMaxEntries));
    }
    if (info.kind == FileInfo::Kind::kFolder) {
      all_.Add(fmt::format("folder {}\n", name));
      return {};
    }
    auto file = InputFile::Open(path);
    if (!file) return file.error();
    const auto takes = within_.Judge(path, file->RealPath());
    if (!takes) return takes.error();
    if (!*takes) return {};
    Sha256 digest;
    std::uint64_t size = 0;
    while (true) {
      const auto got = file->ReadAt(size, buffer_.data(), buffer_.size());
      if (!got) return got.error();
      if (*got == 0) break;
      digest.Add(std::string_view(buffer_).substr(0, *got));
      size += *got;
    }
    content_.bytes += size;
    ++content_.files;
    all_.Add(fmt::format("{} {} {}\n", std::move(digest).Hex(), (info.mode & 0100) != 0 ? "x" : "-",
                         name));
    return {};
  }

  SyncContent Finish() && {
    content_.digest = std::move(all_).Hex();
    return std::move(content_);
  }

 private:
  const CopySource& within_;
  Sha256 all_;
  SyncContent content_;
  std::size_t entries_ = 0;
  std::string buffer_ = std::string(std::size_t{1} << 20, '\0');
};

bool IsOfGit(std::string_view name) {
  return name.substr(name.rfind('/') + 1) == ".git";
}

}  // namespace

Result<SyncContent> ReadSync(const SyncDoors& doors, const JobSync& sync) {
  const CopySource within(doors.withheld, sync.source);
  if (const auto takes = within.Takes(sync.source); !takes) return takes.error();
  const auto packing = PackingOf(doors.files, sync);
  if (!packing) return packing.error();
  SyncReader reader(within);
  const auto leave_out = [&](std::string_view name) {
    return IsOfGit(name) || IsExcluded(sync.exclude, name);
  };
  const auto add = [&](const std::string& path, const std::string& name, const FileInfo& info) {
    return reader.Add(path, name, info);
  };
  for (const std::string& source : packing->sources) {
    // A file is named by its destination.
    const std::string name = packing->is_folder ? tar::BaseName(source) : "file";
    auto walked =
        tar::Walk(doors.files, source, name,
                  packing->is_folder ? tar::ExcludeFilter(leave_out) : nullptr, add, &within);
    if (!walked) return walked.error();
  }
  return std::move(reader).Finish();
}

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

std::optional<Blocker> DrainForJob(WorkerRounds& rounds, const ReadyLaunch& ready,
                                   const JobSpec& job, const DrainRequest& request,
                                   const PrepareListener& tell) {
  if (auto why = EndEarlierRuns(rounds, ready, job, request, tell)) return why;
  if (job.launcher == Launcher::kShell) return std::nullopt;
  return EndHolders(rounds, ready, job, request, tell);
}

std::optional<Blocker> SyncForJob(WorkerRounds& rounds, const SyncDoors& doors,
                                  const std::vector<WorkerAccess>& workers, const JobSpec& job,
                                  const PrepareListener& tell) {
  for (const JobSync& sync : job.sync) {
    if (auto why = SyncOne(rounds, doors, workers, sync, tell)) return why;
  }
  return std::nullopt;
}

std::optional<workers::Gang> GangOfJob(const ReadyLaunch& ready, const JobSpec& job) {
  // One of these commands does not wait for the others.
  if (job.launcher == Launcher::kShell) return std::nullopt;
  const bool alone = ready.workers.size() == 1;
  if (alone && job.restart.attempts == 0 && !job.restart.hang && job.logs.empty()) {
    return std::nullopt;
  }
  workers::Gang gang;
  for (const WorkerLaunch& worker : ready.launch.workers) {
    gang.members.push_back({worker.worker, worker.address});
  }
  gang.restarts = job.restart.attempts;
  gang.first_pause = job.restart.backoff;
  gang.longest_pause = job.restart.LongestPause();
  gang.hang = job.restart.hang.value_or(std::chrono::seconds(0));
  for (const RestartReason reason : job.restart.on) {
    gang.on.emplace_back(RestartReasonName(reason));
  }
  if (const auto place = KeptLogsOf(job)) {
    gang.logs = {place->bucket, KeptLogFolder(*place, job.pod, job.name)};
  }
  return gang;
}

DetachedStart StartOfJob(const ReadyLaunch& ready, const JobSpec& job) {
  DetachedStart start;
  start.name = job.name;
  const std::string files = FilesText(job, ready.launch);
  start.identity = files + ready.launch.workers.front().script;
  for (const auto& [name, value] : job.env) {
    start.identity += fmt::format("{}={}\n", name, ShellQuote(value));
  }
  start.workers = ready.workers;
  for (const WorkerLaunch& worker : ready.launch.workers) {
    start.commands.push_back(files + worker.script);
    start.environments.push_back(worker.env);
  }
  start.grace = job.grace;
  start.container = ContainerOf(job);
  if (!job.logs.empty()) start.identity += fmt::format("logs={}\n", job.logs);
  start.gang = GangOfJob(ready, job);
  return start;
}

}  // namespace podctl
