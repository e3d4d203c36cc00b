// From a pod's name to its workers: what exec, ssh and tunnel do first.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/wiring.h"
#include "providers/worker.h"
#include "state/state.h"

namespace podctl {

struct PodTarget {
  std::string address;
  std::vector<WorkerAccess> workers;            // all of them, by number
  std::map<std::string, std::string> exec_env;  // for what is started
  // The workers that were named after the pod, as WorkerSelection reads them: "[1]/3" of
  // "research[1]/3", "0-3" of "research/0-3". Empty: none, and where only slices are,
  // `within_named` are still to be chosen of each of these.
  std::string named = {};
  bool within_named = false;
};

// "pod.research", "research" and "research[1]/3" -> "research".
std::string BarePodName(const std::string& name);
// What the state holds of the pod; without its `exec_env` where tpu-runtime takes that.
Result<PodRecord> FindRecord(Wiring& wiring, const std::string& name);
// An error when the pod has no workers that could answer.
Result<void> CheckUsable(const std::string& name, const PodRecord& record);
// Asks the API for host keys that the record lacks.
Result<PodTarget> TargetOf(Wiring& wiring, const std::string& pod, PodRecord record);

// Reads the state; asks the API only for what the state lacks (endpoints, host keys).
Result<PodTarget> FindPod(Wiring& wiring, const std::string& name);

// The workers that `selection` means (providers/base/worker_selection.h); empty: `fallback`. Where
// slices alone were named with the pod, the numbers are those within each of them.
Result<std::vector<WorkerAccess>> SelectWorkers(const PodTarget& target,
                                                const std::string& selection,
                                                const std::string& fallback);

// Remembers keys that were trusted on first use. Best effort under the state's lock: when another
// run holds it, a remark says that the keys were not remembered.
void RememberHostKeys(Wiring& wiring, const std::string& address,
                      const std::map<int, HostKeyText>& learned);

// "export A='1'; " for each, before a command.
std::string ExportLine(const std::map<std::string, std::string>& env);

// The words after `--` as one command for the remote shell. A single word is shell text, as with
// ssh; several are quoted one by one, so that each arrives as it was given. `env` is exported
// first.
std::string RemoteCommand(const std::vector<std::string>& words,
                          const std::map<std::string, std::string>& env);

}  // namespace podctl
