// What a spec says of one of a pod's `bootstrap` steps.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "providers/base/diagnostic.h"
#include "providers/bootstrap/step_runner.h"

namespace podctl {

struct StepSpec {
  std::string name;
  std::optional<std::vector<int>> workers;  // nullopt: all, or workers_by_slice
  // A selection that names slices (WorkerSelection), to be resolved once the pod's are known.
  std::string workers_by_slice;
  std::string run;                         // template text
  std::string xrt_version;                 // asked for in place of `run`; empty: none
  std::map<std::string, std::string> env;  // template text
  bool sensitive = false;                  // `run` or `env` holds a sensitive variable
  std::vector<StepFile> files;             // sources already relative to the current folder
  std::string files_digest;                // over names, modes and contents of all files
  std::chrono::milliseconds timeout{0};
  SourcePlace place;
};

}  // namespace podctl
