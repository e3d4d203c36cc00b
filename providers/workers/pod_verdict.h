// What the answers to a probe of a pod (pod_probe.h) say of its workers: who does not join the
// others, and in what one differs from most. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "providers/workers/pod_probe.h"
#include "providers/workers/probe.h"

namespace podctl::workers {

// A worker's clock less podctl's, and by how much that may be wrong: half of the time between the
// question and the answer.
struct ClockOffset {
  std::chrono::milliseconds offset{0};
  std::chrono::milliseconds error{0};
};

// A worker that the probe was for; its place is that in PodProbe::members.
struct ProbedWorker {
  int worker = 0;
  std::optional<PodProbeAnswer> answer;
  std::string silence;  // why there is no answer; empty where there is one
  bool known = false;   // somebody else has said already why it is silent
  std::optional<ClockOffset> clock;
  std::optional<ProbeReport> report;  // what probe.h tells of it; nullopt: unknown
  bool has_external = true;           // it has an address in the internet
};

// Where the pod is, for the commands that mend its network; each may be empty.
struct PodNetwork {
  std::string project;
  std::string region;
  std::string network;
  std::string subnetwork;
};

struct PodFindings {
  std::vector<Finding> pod;                     // of the pod as a whole
  std::map<int, std::vector<Finding>> workers;  // by number
  std::vector<std::string> notes;               // no trouble, but good to know
  std::size_t joined = 0;                       // workers that reach their neighbours
  // Between neighbours, in kbit/s; nullopt: it was not measured.
  std::optional<std::int64_t> slowest;
  std::optional<std::int64_t> median;
};

// Those of `workers` for which neighbours were called: whether `probe.neighbours` says so.
PodFindings JudgePodProbe(const PodProbe& probe, const std::vector<ProbedWorker>& workers,
                          const PodNetwork& network);

// Of one worker of a collective.
struct CollectiveWorker {
  int worker = 0;
  std::optional<CollectiveAnswer> answer;
  std::string silence;     // why there is no answer
  bool has_chips = false;  // it has TPU devices, so it is to compute on them
};
// The note says what they have added up, where all is well.
PodFindings JudgeCollective(const PodProbe& probe, const std::vector<CollectiveWorker>& workers);

// Whether such a finding may be the machine's fault, which a new node would not have.
bool SpeaksAgainstMachine(const Finding& finding);

// "9.8 Gbit/s".
std::string RateWords(std::int64_t kbits);

}  // namespace podctl::workers
