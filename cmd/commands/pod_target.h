// From a pod's name on the command line to its workers: reads the state, and asks the API only for
// what the state lacks (endpoints, host keys).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cmd/wiring.h"
#include "plans/fleet/pod_target.h"
#include "plans/kinds/pod/record.h"

namespace podctl {

Result<PodRecord> FindRecord(Wiring& wiring, const std::string& name);
// `name` as it was given, with workers or without. Asks the API for host keys that the record
// lacks, and OS Login as whom to enter.
Result<PodTarget> TargetOf(Wiring& wiring, const std::string& name, PodRecord record);
Result<PodTarget> FindPod(Wiring& wiring, const std::string& name);

struct ChosenWorkers {
  PodTarget target;
  std::vector<WorkerAccess> workers;  // those that are meant
};
// `selection` as --worker has it; empty: `fallback`.
Result<ChosenWorkers> ChooseWorkers(Wiring& wiring, const std::string& name,
                                    const std::string& selection,
                                    const std::string& fallback = "all");

// Remembers keys that were trusted on first use. Best effort: when another run holds the state's
// lock, a remark says that the keys were not remembered.
void RememberHostKeys(Wiring& wiring, const std::string& address,
                      const std::map<int, HostKeyText>& learned);

}  // namespace podctl
