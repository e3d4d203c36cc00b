// Which steps of a pod run, on which workers and why: those of `bootstrap`, and those that podctl
// makes itself (the restart of tpu-runtime, the proof that the workers can be used). Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/references.h"

namespace podctl {

// The steps of a pod, in their order. `pod` must outlive them.
std::vector<Declared> StepsOf(const Kind& kind, const PodSpec& pod);

std::unique_ptr<KindPlan> BeginStepPlan(const Kind& kind, const PlanningContext& input);

// What a step's digest is taken of: kind, rendered script and env, files. nullopt while a reference
// is not known. Shared with the task, which writes it down for each worker.
struct RenderedStep {
  Step step;
  std::string digest;
};
std::optional<RenderedStep> RenderStep(const Step& step, const std::string& files_digest,
                                       const ReferenceLookup& lookup);

// Why not, where what it refers to is known.
std::optional<UnusableReference> FindUnusableOf(const Step& step, const ReferenceLookup& lookup);

// ---- What a step looks like as a resource of terraform's JSON. Pure.

// Of what the state remembers.
ShownObject ObjectOf(const Address& address, const StepRecord& record);
// A run's two sides; `state` is the plan's prior one.
ShownSides SidesOfStep(const Change& change, const State& state);

// ---- How the run of a step is told. Pure.

ChangeWords WordsOfStep(const Change& change);
// "Bootstrap: 3 steps to run on 8 workers."; "" where none runs.
std::string SummaryOfSteps(const Plan& plan);

}  // namespace podctl
