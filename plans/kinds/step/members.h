// What a saved plan holds of steps (plans/engine/plan_file/archive.h).
#pragma once

#include "plans/kinds/pod/members.h"
#include "plans/kinds/step/change.h"

namespace podctl {

template <>
struct plan_file::Words<Step::Kind> {
  static constexpr const char* kAll[] = {"script", "restart-runtime", "readiness", "request-xrt"};
};

template <typename A, plan_file::Of<Step> S>
void Members(A& archive, S& step) {
  auto& [kind, script, env, files, timeout, mark, hides_output] = step;
  archive("kind", kind);
  archive("script", script);
  archive("env", env);
  archive("files", files);
  archive("timeout_ms", timeout);
  static_cast<void>(mark);          // who runs it knows the state and the address
  static_cast<void>(hides_output);  // StepChange says whether it is sensitive
}

template <typename A, plan_file::Of<StepChange> S>
void Members(A& archive, S& run) {
  auto& [step, files_digest, workers, selected, expected_workers, sensitive, workers_by_slice,
         per_slice, node] = run;
  archive("step", step);
  archive("files_digest", files_digest);
  archive("workers", workers);
  archive("selected", selected);
  archive("workers_by_slice", workers_by_slice);
  archive("per_slice", per_slice);
  archive("expected_workers", expected_workers);
  archive("sensitive", sensitive);
  archive("node", node);
}

}  // namespace podctl
