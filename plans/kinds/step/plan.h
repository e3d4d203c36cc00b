// Plans the steps of one pod: those that podctl makes itself (the restart of tpu-runtime, the proof
// that the workers can be used), and those of `bootstrap`. Pure.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/references.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "state/state.h"

namespace podctl {

struct PlannedStep {
  Change change;
  // It has run on this pod before and runs once more, for a change: what `replaceTriggeredBy` of
  // another pod looks at.
  bool again = false;
};

struct StepQuestion {
  const PodSpec& pod;
  const PodRecord* record = nullptr;
  // nullptr when the pod is about to be made: every step runs, and the runtime starts with the new
  // metadata by itself.
  const Value* node = nullptr;
  const Change& pod_change;
};

class StepPlanner {
 public:
  using Refuse = std::function<void(const Address& address, Diagnostic diagnostic)>;

  // `again`: addresses of steps to run on all their workers, whatever is remembered of them.
  StepPlanner(const State& state, ReferenceLookup lookup, std::set<Address> again, Refuse refuse)
      : state_(state),
        lookup_(std::move(lookup)),
        again_(std::move(again)),
        refuse_(std::move(refuse)) {}

  // The steps that will run, in their order.
  std::vector<PlannedStep> Plan(const StepQuestion& question) const;

 private:
  struct Stale;
  void PlanRestart(const StepQuestion& question, std::vector<PlannedStep>* steps) const;
  void PlanReadiness(const StepQuestion& question, std::vector<PlannedStep>* steps) const;
  bool ResolveSlices(const StepQuestion& question, const StepSpec& step, StepChange* run) const;
  void CheckSelection(const StepQuestion& question, const StepSpec& step) const;
  void PlanOne(const StepQuestion& question, const std::string& name, const SourcePlace& place,
               StepChange run, bool everywhere, std::vector<PlannedStep>* steps) const;
  Stale StaleWorkers(const Address& address, const StepChange& run, const Value& node,
                     bool everywhere) const;
  const StepWorkerRecord* RecordOf(const Address& step, int worker) const;

  const State& state_;
  const ReferenceLookup lookup_;
  const std::set<Address> again_;
  const Refuse refuse_;
};

}  // namespace podctl
