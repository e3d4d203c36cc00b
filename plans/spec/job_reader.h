// Reads `jobs`: commands that run on a pod's workers. Checks each on its own, and against the pod
// it names: that there is such a pod, and that its hardware can do what `devices` asks for.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/spec/job_spec.h"
#include "plans/spec/spec.h"
#include "plans/spec/value_reader.h"

namespace podctl {

class JobReader {
 public:
  // `pods`: all of the spec on which jobs can run, as far as they could be read, by name. Lent.
  JobReader(ValueReader& reader, const std::map<std::string, const Declared*>& pods)
      : reader_(reader), pods_(pods) {}

  // A job whose problems have been reported may come back with defaults in place of what was wrong.
  JobSpec Read(const YamlNode& key, const YamlNode& job);

 private:
  void ReadKey(const YamlEntry& entry, const Slot& slot, JobSpec& job);
  void ReadPod(const YamlNode& node, const Slot& slot, JobSpec& job);
  void ReadGrace(const YamlNode& node, const Slot& slot, JobSpec& job);
  void ReadCommand(const YamlNode& node, const Slot& slot, JobSpec& job);
  void ReadFlags(const YamlNode& node, const Slot& slot, JobSpec& job);
  void ReadEnv(const YamlNode& node, const Slot& slot, JobSpec& job);
  void ReadDocker(const YamlNode& node, const Slot& slot, JobSpec& job);
  void ReadDevices(const YamlNode& node, const Slot& slot, JobSpec& job);
  void ReadSync(const YamlNode& node, const Slot& slot, JobSpec& job);
  std::optional<JobSync> ReadSyncItem(const YamlNode& item, const Slot& slot);
  void ReadRestart(const YamlNode& node, const Slot& slot, JobSpec& job);
  void ReadWorkers(const YamlNode& node, const Slot& slot, JobSpec& job);
  std::vector<std::string> ReadWords(const YamlNode& node, const Slot& slot, TextRules rules = {});
  // nullopt: there is no such pod.
  std::optional<JobHost> HostOfJob(const JobSpec& job) const;
  void CheckReferences(const JobSpec& job);
  void CheckLauncher(const YamlNode& key, const YamlNode& job, const Slot& slot, JobSpec& spec);
  void CheckXlaDist(const YamlNode& job, const Slot& slot, const JobSpec& spec);
  void CheckDevices(const YamlNode& job, const Slot& slot, const JobSpec& spec);

  ValueReader& reader_;
  const std::map<std::string, const Declared*>& pods_;
};

// ---- What the readers of jobs and those who start them must both know of launchers. What each
// launcher sets on a worker is plans/jobs/.

// The program runs on worker 0 alone; the other workers serve it through tpu-runtime.
bool RunsOnWorkerZero(Launcher launcher);

// One of those that podctl sets for each process, PODCTL_WORKER and the like.
bool IsPlaceVariable(std::string_view name);

// A variable that xla_dist sets by itself on each worker, and has always refused to take.
bool IsXlaDistVariable(std::string_view name);

}  // namespace podctl
