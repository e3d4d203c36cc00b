// Reads `jobs`: commands that run on a pod's workers. Checks each on its own, and against the pod
// it names: that there is such a pod, and that its hardware can do what `devices` asks for.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/spec/job_spec.h"
#include "plans/spec/spec.h"
#include "plans/spec/value_reader.h"
#include "providers/os/file_system.h"

namespace podctl {

// What a job's `sync` may name: what is there, and what applying the spec makes.
struct LocalFiles {
  FileSystem& files;              // lent
  std::vector<std::string> made;  // paths from the current folder
};

// `pods`: all of the spec on which jobs can run, as far as they could be read, by name. A job whose
// problems have been reported may come back with defaults in place of what was wrong.
// The table of what it reads.
const Shape& JobShape();

JobSpec ReadJob(const YamlNode& key, const YamlNode& job,
                const std::map<std::string, const Declared*>& pods, const LocalFiles& local,
                ValueReader& reader);

// ---- What the readers of jobs and those who start them must both know of launchers. What each
// launcher sets on a worker is plans/jobs/.

// The program runs on worker 0 alone; the other workers serve it through tpu-runtime.
bool RunsOnWorkerZero(Launcher launcher);

// One of those that podctl sets for each process, PODCTL_WORKER and the like.
bool IsPlaceVariable(std::string_view name);

// A variable that xla_dist sets by itself on each worker, and has always refused to take.
bool IsXlaDistVariable(std::string_view name);

}  // namespace podctl
