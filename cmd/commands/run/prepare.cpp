#include "cmd/commands/run/prepare.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "cmd/commands/cp/archive_feed.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/worker_round.h"
#include "cmd/views/byte_count.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"
#include "providers/tar/archive.h"
#include "providers/tar/remote_texts.h"
#include "providers/workers/drain.h"
#include "providers/workers/probe.h"
#include "providers/workers/runs.h"

namespace podctl {
namespace {

using workers::Holder;

constexpr std::chrono::seconds kGrace{10};
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

bool EndEarlierRuns(Wiring& wiring, const PodTarget& target,
                    const std::vector<WorkerAccess>& chosen, const std::string& job) {
  auto answers = AskWorkers(wiring, target.address, chosen, workers::EndRunsCommand(job, kGrace));
  std::vector<int> where;
  int count = 0;
  for (WorkerAnswer& answer : answers) {
    if (!answer.result.ok()) continue;
    const auto ended = workers::ParseEndRuns(answer.lines);
    if (!ended) {
      answer.result.outcome = ssh::Outcome::kLost;
      answer.result.message = ended.error().message;
    } else if (*ended > 0) {
      where.push_back(answer.worker.index);
      count += *ended;
    }
  }
  if (count > 0) {
    Remark(wiring, fmt::format("{}: ended {} of an earlier run of {}.",
                               WorkersName(chosen.front().pod, where, chosen.front().per_slice),
                               count == 1 ? "a process" : fmt::format("{} processes", count), job));
  }
  return AllAnswered(wiring, &answers);
}

// What of a worker's holders is to be ended; the others are told in `foreign`.
std::vector<Holder> VictimsOf(const WorkerAccess& worker, const workers::ProbeReport& probe,
                              std::vector<std::string>* foreign) {
  std::vector<Holder> victims;
  for (const Holder& holder : probe.holders) {
    if (holder.owner == Holder::Owner::kRuntime) continue;
    if (holder.owner == Holder::Owner::kNobody && holder.user == probe.user) {
      victims.push_back(holder);
      continue;
    }
    const std::string whose = holder.owner == Holder::Owner::kJob
                                  ? fmt::format("the job {}", holder.job)
                                  : fmt::format("`{}`", holder.command);
    foreign->push_back(fmt::format("{}: the TPU is held by {} ({})", worker.Name(), whose,
                                   workers::DescribeHolder(holder)));
  }
  return victims;
}

bool EndHolders(Wiring& wiring, const PodTarget& target, const std::vector<WorkerAccess>& chosen) {
  auto answers = AskWorkers(wiring, target.address, chosen, workers::ProbeCommand({}));
  std::vector<ssh::Job> drains;
  std::vector<std::string> foreign;
  for (WorkerAnswer& answer : answers) {
    if (!answer.result.ok()) continue;
    const auto probe = workers::ParseProbe(answer.lines);
    if (!probe) {
      answer.result.outcome = ssh::Outcome::kLost;
      answer.result.message = "its answer to the probe cannot be read";
      continue;
    }
    const auto victims = VictimsOf(answer.worker, *probe, &foreign);
    const bool stale_lock = !probe->lock_owner.empty() && probe->holders.empty();
    if (victims.empty() && !stale_lock) continue;
    for (const Holder& victim : victims) {
      Remark(wiring, fmt::format("{}: ending {}: {}", answer.worker.Name(),
                                 workers::DescribeHolder(victim), victim.command));
    }
    drains.push_back({answer.worker, workers::DrainCommand(victims, kGrace), nullptr});
  }
  if (!AllAnswered(wiring, &answers)) return false;
  if (!foreign.empty()) {
    const std::size_t more = foreign.size() - 1;
    return Refuse(
        wiring,
        MakeError(
            ErrorCode::kFailedPrecondition,
            foreign.front() + (more > 0 ? fmt::format(", and {} more", more) : ""),
            fmt::format("It is not this job's to end. `podctl drain {0}` shows and ends them, "
                        "`podctl kill {0} NAME` ends a job; `--no-drain` starts beside them.",
                        chosen.front().pod)));
  }
  if (drains.empty()) return true;
  auto ended = AskWorkers(wiring, target.address, drains, kGrace + std::chrono::minutes(1));
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
  auto answers = AskWorkers(wiring, target.address, jobs, kLongestCopy);
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

bool DrainForJob(Wiring& wiring, const PodTarget& target, const std::vector<WorkerAccess>& workers,
                 const JobSpec& job) {
  if (!EndEarlierRuns(wiring, target, workers, job.name)) return false;
  return job.launcher == Launcher::kShell || EndHolders(wiring, target, workers);
}

bool SyncForJob(Wiring& wiring, const PodTarget& target, const std::vector<WorkerAccess>& workers,
                const JobSpec& job) {
  return std::all_of(job.sync.begin(), job.sync.end(),
                     [&](const JobSync& sync) { return SyncOne(wiring, target, workers, sync); });
}

}  // namespace podctl
