// Whether a pod and its workers are fit for work: asks the service for the node, and the workers
// for what runs on them. Changes nothing, shows nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/fleet/worker_round.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/value.h"
#include "providers/os/clock.h"
#include "providers/provider.h"
#include "providers/workers/jobs.h"
#include "providers/workers/pod_verdict.h"
#include "providers/workers/probe.h"

namespace podctl {

// What `--probe` found besides what stands with the workers.
struct ProbeReportOfPod {
  std::vector<workers::ProbedWorker> workers;  // those that took part, by place
  bool neighbours = false;                     // they were to connect to each other
  std::size_t joined = 0;                      // that did
  std::optional<std::int64_t> slowest;         // between neighbours, kbit/s
  std::optional<std::int64_t> median;
  std::vector<std::string> notes;  // no trouble, but good to know
  std::vector<workers::CollectiveWorker> collective;
  std::string no_collective;    // a clause: why it was not run; empty: it was
  std::map<int, int> failures;  // of workers: how often in a row, this time included
};

struct DoctorReport {
  struct Worker {
    int index = 0;
    std::string host;
    std::vector<workers::Finding> findings;
    std::optional<workers::ProbeReport> probe;  // nullopt: there was no answer
  };
  std::string pod;
  std::string state;                       // of the node: "READY"
  std::string health;                      // "HEALTHY", or "" where the service says nothing
  std::vector<workers::Finding> findings;  // of the node as a whole
  std::vector<Worker> workers;             // those that were looked at
  // Why the service did not tell, and the node is taken as it was last seen; empty: it did.
  std::string unread;
  WorkerGroups died;     // jobs that are over everywhere, and where without an exit code
  WorkerGroups at_work;  // jobs on the TPU: no trouble, but good to know
  // Of jobs without anybody watching, what their workers have told each other, by job: of those
  // that run, and of those that are over (`lost`) since a worker was lost.
  std::map<std::string, workers::GangNews> gangs;
  std::set<std::string> lost;
  std::set<std::string> running;          // jobs, on the TPU or not
  int per_slice = 0;                      // workers of each slice of a multislice, else 0
  std::optional<ProbeReportOfPod> probe;  // nullopt: none was asked for, or none could be

  std::size_t HealthyWorkers() const;
  bool Healthy() const;
};

// The live node, where the service tells of it; else what the record remembers. What has its name
// and is not of `lineage`, the state's, is not it. An error: there is none to go on with, since it
// is gone or still to come (a finding says so), or since `stop` was asked for.
Result<Value> LookAtNode(Provider& provider, const std::stop_token& stop, const PodRecord& record,
                         const std::string& lineage, DoctorReport* report);

// Of a pod that the spec wants, and of which the state knows nothing.
void JudgeNotMade(DoctorReport* report);

// Of a pod that has no workers, and that `podctl watch` makes anew when the service takes it: where
// it has, that is what is to be done.
void AdviseWatch(const PodRecord& record, DoctorReport* report);

// Looks `chosen` over, at least one: in one round at the machine, in another at its jobs.
void LookAtWorkers(WorkerRounds& rounds, Clock& clock, const Value& node,
                   const std::vector<WorkerAccess>& chosen, DoctorReport* report);

}  // namespace podctl
