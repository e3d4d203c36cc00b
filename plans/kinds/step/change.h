// What the plan of a step says beyond what every change says.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/members.h"
#include "providers/bootstrap/step_runner.h"
#include "providers/provider.h"

namespace podctl {

struct StepChange {
  // Template text in script and env. For kRestartRuntime env holds one entry, the
  // `tensorflow-env-vars` that the runtime must have read when it started.
  Step step;
  std::string files_digest;
  std::optional<std::vector<int>> workers;   // nullopt: all, known once the pod exists
  std::optional<std::vector<int>> selected;  // the workers the spec names; nullopt: all
  std::size_t expected_workers = 0;          // how many will run, as far as known; 0: unknown
  bool sensitive = false;                    // script and env are never shown
  // In place of `workers` and `selected`, where the spec names slices and the pod is not there yet.
  std::string workers_by_slice = {};
  // What its references stand for, as far as it was known when the plan was made, by how they are
  // written: for who reads the plan. Of a sensitive step, nothing.
  std::optional<std::map<std::string, std::string>> known = {};
  int per_slice = 0;   // workers of each slice of a multislice that is there, else 0
  NodeName node = {};  // of its pod
};

// Of the attribute that tells what its script was before, and is now; of a step that did not
// change there is none.
inline constexpr std::string_view kScriptPath = "script";

// nullptr: the change is not a step's.
inline const StepChange* AsStep(const Change& change) {
  return change.payload.As<StepChange>();
}

// ---- What a saved plan holds of steps (plans/engine/plan_file/archive.h).

template <>
struct plan_file::Words<Step::Kind> {
  static constexpr const char* kAll[] = {"script", "restart-runtime", "readiness", "request-xrt"};
};

template <typename A, plan_file::Of<Step> S>
void Members(A& archive, S& step) {
  auto& [kind, script, env, files, timeout, mark, hides_output, probes] = step;
  PODCTL_SAVE(archive, kind, script, env, files, timeout, probes);
  static_cast<void>(mark);          // who runs it knows the state and the address
  static_cast<void>(hides_output);  // StepChange says whether it is sensitive
}

PODCTL_MEMBERS(StepChange, step, files_digest, workers, selected, expected_workers, sensitive,
               workers_by_slice, known, per_slice, node)

}  // namespace podctl
