// What is done on the workers before a job starts: what earlier runs left is ended, and the job's
// files are brought there. Shows nothing: what is done is news, and why the job must not start is
// returned.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plans/fleet/jobs.h"
#include "plans/fleet/pod_target.h"
#include "plans/fleet/worker_round.h"
#include "plans/jobs/launch.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/job_spec.h"
#include "providers/os/file_system.h"
#include "providers/os/withheld_files.h"
#include "providers/workers/probe.h"

namespace podctl {

// A pod as a job needs it: how its workers are reached, and what each of them is to run.
struct ReadyLaunch {
  PodTarget target;
  PodRecord record;
  Launch launch;
  std::vector<WorkerAccess> workers;  // of the launch, in its order
};

// Some workers of a pod.
struct SomeOf {
  std::string pod;
  int per_slice = 0;
  std::vector<int> workers;
};
struct EarlierRunEnded {
  std::string job;
  SomeOf where;
  int processes = 0;
};
struct ConflictingJobEnded {
  std::string job;
  SomeOf where;
};
struct HolderEnding {
  WorkerAccess worker;
  workers::Holder holder;
};
struct FilesCopied {
  std::string source;
  std::string destination;
  std::size_t workers = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};
using PrepareEvent = std::variant<EarlierRunEnded, ConflictingJobEnded, HolderEnding, FilesCopied>;
using PrepareListener = std::function<void(const PrepareEvent& news)>;

// Why a job must not start.
struct Blocker {
  std::optional<Error> error;
  std::vector<WorkerAnswer> answers;  // without an error: some are none. Empty: somebody stops us
};

struct DrainRequest {
  bool end_jobs = false;  // jobs of podctl that are in the way too
  bool detached = false;  // the job that is begun looks for itself whether it runs already
  std::string run;        // the one that is begun, perhaps again; empty for a detached one
  std::string owner;      // who does it: "alice@laptop"
};
// Ends the processes of earlier runs of this job, and what of the same user holds chips that it is
// to have and belongs to nobody that podctl knows of. What others hold, and jobs that are at work,
// this one included, are told and left alone, unless the request says otherwise.
std::optional<Blocker> DrainForJob(WorkerRounds& rounds, const ReadyLaunch& ready,
                                   const JobSpec& job, const DrainRequest& request,
                                   const PrepareListener& tell);

// All of it is lent.
struct SyncDoors {
  FileSystem& files;
  const WithheldFiles& withheld;
};
// What an entry of `sync` would copy now.
struct SyncContent {
  std::string digest;  // SHA-256 over names, contents and who may execute them, in hex
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};
// What git keeps for itself (`.git`) is copied, and not counted here: it differs from one checkout
// of the same files to the next. Errors as when it is copied; kNotFound: there is no such source.
Result<SyncContent> ReadSync(const SyncDoors& doors, const JobSync& sync);

// Copies each source over its destination: a folder's content into the folder, but for what is
// withheld; a file to the file. What is there beside it stays.
std::optional<Blocker> SyncForJob(WorkerRounds& rounds, const SyncDoors& doors,
                                  const std::vector<WorkerAccess>& workers, const JobSpec& job,
                                  const PrepareListener& tell);

// What makes the job's workers a gang, without its certificate; nullopt: each is by itself.
std::optional<workers::Gang> GangOfJob(const ReadyLaunch& ready, const JobSpec& job);

// The job as one that outlives its connection.
DetachedStart StartOfJob(const ReadyLaunch& ready, const JobSpec& job);

// Whether `path`, below the source, is meant by one of the patterns: one without a slash means
// names anywhere, one with a slash means paths. *, ? and [ as in a shell.
bool IsExcluded(const std::vector<std::string>& patterns, std::string_view path);

}  // namespace podctl
