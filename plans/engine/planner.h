// Decides: spec × state × what the API says now → Plan. Pure: no clock, no network, no files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/unknown_fate.h"
#include "plans/spec/references.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "state/state.h"

namespace podctl {

struct PlanOptions {
  PlanMode mode = PlanMode::kNormal;
  // Addresses of pods and steps: only these, and what they depend on. Empty: everything.
  std::vector<std::string> targets;
  // Pods to make anew although they are as wanted, and steps to run again on all their workers.
  std::vector<std::string> replace;
  bool refresh = true;  // false: the observation was made from the state (ObservationFrom)
  // Of pods that moved: the address now -> what the stored state calls it (moves.h).
  std::map<Address, Address> moved;
  StatePlace state_place = {};
  Kinds kinds = {};  // besides pods and steps
};

// `state` is the settled one (refresh.h). What makes the plan impossible (a node of that name is
// there that podctl did not make, a pod protected by preventDestroy would go, a cycle) is an error
// in `diagnostics`.
Plan MakePlan(const Spec& spec, const State& state, const Observation& observation,
              const PlanOptions& options, Diagnostics& diagnostics);

// What a step's digest is taken of: kind, rendered script and env, files. nullopt while a reference
// is not known. Shared with the executor, which writes it down for each worker.
struct RenderedStep {
  Step step;
  std::string digest;
};
std::optional<RenderedStep> RenderStep(const Step& step, const std::string& files_digest,
                                       const ReferenceLookup& lookup);

// The step podctl makes itself: restart tpu-runtime. Its digest is of the value it must run with.
inline constexpr const char* kRuntimeStepName = "tpu-runtime";
// The step that proves that a new node's workers can be used. It is a part of the creation; the
// state holds it only while that proof is outstanding.
inline constexpr const char* kReadinessStepName = "readiness";
std::string RuntimeDigest(const std::string& tensorflow_env_vars);

}  // namespace podctl
