#include "plans/kinds/step/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/step/runtime_unit.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/gcp/available_types.h"

namespace podctl {
namespace {

// What a pod declares as a step: one of its `bootstrap`, or one that podctl makes itself.
struct StepRequest {
  Step::Kind kind = Step::Kind::kScript;
  const StepSpec* spec = nullptr;  // nullptr: podctl's own
};

struct Stale {
  std::vector<int> workers;
  bool changed = false;    // it ran on this node, as it was then
  bool recreated = false;  // it ran on the node before this one
  bool applied = false;    // it ran somewhere on this node
};

class StepPlan final : public KindPlan {
 public:
  StepPlan(const Kind& kind, const PlanningContext& input) : kind_(kind), it_(input) {}

  Verdict Judge(const PlanInput& it) override {
    verdict_ = {};
    verdict_.planned = false;
    verdict_.change.verb = Verb::kRun;
    if (it.declared == nullptr) return std::move(verdict_);
    const Facts* facts = it_.facts(it.declared->builds_on.front());
    pod_ = facts == nullptr ? nullptr : facts->own.As<PodFacts>();
    if (pod_ == nullptr) return std::move(verdict_);
    again_ = it.again;
    record_ = it.record == nullptr ? nullptr : &it.record->As<StepRecord>();
    const auto& request = *it.declared->wanted.As<StepRequest>();
    if (request.spec != nullptr) {
      PlanSpec(*request.spec);
    } else if (pod_->seen != nullptr && request.kind == Step::Kind::kRestartRuntime) {
      PlanRestart();
    } else if (pod_->seen != nullptr) {
      PlanReadiness();
    }
    return std::move(verdict_);
  }

 private:
  const PodSpec& Pod() const { return pod_->change.As<PodChange>()->wanted; }
  int Slices() const { return NameOf(Pod()).slices; }

  void Refuse(std::string summary, std::string detail = {}) {
    verdict_.refusals.push_back({.summary = std::move(summary), .detail = std::move(detail)});
  }

  void NoteKnown(StepChange* run) const {
    if (run->sensitive) return;
    auto known = KnownReferences(run->step.script, it_.nodes);
    for (const auto& [name, text] : run->step.env) known.merge(KnownReferences(text, it_.nodes));
    if (!known.empty()) run->known = std::move(known);
  }

  void PlanSpec(const StepSpec& step) {
    StepChange run;
    run.step.script = step.run;
    if (!step.xrt_version.empty()) {
      run.step.kind = Step::Kind::kRequestXrt;
      run.step.script = step.xrt_version;
    }
    run.step.env = step.env;
    run.step.files = step.files;
    run.step.timeout = step.timeout;
    run.files_digest = step.files_digest;
    run.sensitive = step.sensitive;
    run.selected = step.workers;
    if (const auto unusable = FindUnusableOf(run.step, it_.nodes); unusable && !unusable->missing) {
      return Refuse(
          fmt::format("step `{}` of pod `{}` refers to {}", step.name, Pod().name, unusable->words),
          unusable->hint);
    }
    NoteKnown(&run);
    if (!step.workers_by_slice.empty()) {
      if (!ResolveSlices(step, &run)) return;
    } else if (pod_->seen != nullptr) {
      CheckSelection(step);
    }
    PlanRun(std::move(run), false);
  }

  // What the spec names by slice as numbers, where the pod is there; else how many they will be, as
  // far as that is known. False when it is refused.
  bool ResolveSlices(const StepSpec& step, StepChange* run) {
    const int slices = Slices();
    const bool known = pod_->seen != nullptr;
    const int per_slice = slices < 2 ? 0
                          : known    ? WorkersPerSlice(*pod_->seen)
                                     : gcp::ExpectedWorkers(Pod().node).value_or(0);
    if (!known) run->workers_by_slice = step.workers_by_slice;
    if (!known && slices > 1 && per_slice == 0) return true;
    const auto selection = WorkerSelection::Parse(step.workers_by_slice);
    const auto numbers =
        selection ? selection->Of(static_cast<std::size_t>(per_slice) * slices, per_slice)
                  : Result<std::vector<int>>(selection.error());
    if (numbers) {
      run->expected_workers = numbers->size();
      if (known) run->selected = *numbers;
      return true;
    }
    Refuse(numbers.error().message);
    return false;
  }

  void CheckSelection(const StepSpec& step) {
    const std::size_t count = WorkerCount(*pod_->seen);
    for (int worker : step.workers.value_or(std::vector<int>{})) {
      if (worker < static_cast<int>(count)) continue;
      return Refuse(fmt::format("there is no worker {}: pod `{}` has {}", worker, Pod().name,
                                Plural(count, "worker")));
    }
  }

  void PlanRestart() {
    const auto entry = Pod().metadata.find(kRuntimeVariablesKey);
    const bool wanted = entry != Pod().metadata.end();
    const bool known = wanted || again_ || record_ != nullptr ||
                       pod_->record->metadata.contains(kRuntimeVariablesKey);
    if (!known || WorkerCount(*pod_->seen) < 2) return;
    if (IsIgnored(Pod(), std::string("metadata.") + kRuntimeVariablesKey)) return;
    // The flags are for what podctl starts there: nothing on the workers would read them anew.
    const auto unit = ImageHasRuntimeUnit((*pod_->seen)["runtimeVersion"].AsString());
    if (unit && !*unit && !again_) return;
    StepChange run;
    run.step.kind = Step::Kind::kRestartRuntime;
    run.step.env[kRuntimeVariablesKey] = wanted ? entry->second.text : "";
    run.sensitive = wanted && entry->second.sensitive;
    // A patch of the entry makes every worker stale, whatever was remembered of it.
    PlanRun(std::move(run), !pod_->flags_that_change.empty());
  }

  // A new node is proved ready as a part of its creation; this is for what that left undone.
  void PlanReadiness() {
    if (!(Pod().check_ready && record_ != nullptr) && !again_) return;
    StepChange run;
    run.step.kind = Step::Kind::kReadiness;
    run.step.timeout = Pod().boot_timeout.value_or(run.step.timeout);
    run.step.probes = Pod().probe_ready;
    PlanRun(std::move(run), false);
  }

  // `everywhere`: whatever is remembered of its workers.
  void PlanRun(StepChange run, bool everywhere) {
    run.node = pod_->node;
    if (pod_->seen == nullptr) {
      PlanOnNew(&run);
    } else if (!PlanOnStale(everywhere, &run)) {
      return;
    }
    verdict_.change.payload = Payload(std::move(run), &kind_);
    verdict_.planned = true;
  }

  void PlanOnNew(StepChange* run) {
    const auto expected = gcp::ExpectedWorkers(Pod().node).value_or(0) * Slices();
    if (run->selected) {
      run->expected_workers = run->selected->size();
    } else if (run->workers_by_slice.empty()) {
      run->expected_workers = static_cast<std::size_t>(expected);
    }
    run->workers = run->selected;
    verdict_.change.reason = "the pod is new";
    verdict_.facts.anew = pod_->replaced;
  }

  // False: it has succeeded on all of its workers.
  bool PlanOnStale(bool everywhere, StepChange* run) {
    Stale stale = StaleWorkers(*run, everywhere || again_);
    if (stale.workers.empty()) return false;
    run->expected_workers = stale.workers.size();
    run->workers = std::move(stale.workers);
    run->per_slice = WorkersPerSlice(*pod_->seen);
    verdict_.facts.anew = everywhere || again_ || stale.changed || stale.recreated;
    verdict_.change.reason = Reason(run->step.kind, everywhere, stale);
    if (again_) verdict_.change.reason_code = ReasonCode::kByRequest;
    if (stale.changed) TellScript(*run);
    return true;
  }

  // What was applied before, beside what is to be.
  void TellScript(const StepChange& run) {
    const bool is_shown = run.step.kind == Step::Kind::kScript && !run.sensitive &&
                          !record_->script.empty() && record_->script != run.step.script;
    if (!is_shown) return;
    verdict_.change.attributes = {{.path = std::string(kScriptPath),
                                   .before = Value(record_->script),
                                   .after = Value(run.step.script)}};
  }

  std::string Reason(Step::Kind kind, bool everywhere, const Stale& stale) const {
    if (again_) return "it was requested";
    if (kind == Step::Kind::kReadiness) return "not every worker was proved to be usable";
    if (kind == Step::Kind::kRestartRuntime) {
      return everywhere ? pod_->flags_that_change
                        : "not every worker runs with the current tensorflow-env-vars";
    }
    if (stale.recreated) return "the pod was made anew";
    if (stale.changed) return "the step changed";
    if (stale.applied) return "it has not succeeded everywhere";
    return record_ == nullptr ? "it has not run yet" : "it has not succeeded yet";
  }

  Stale StaleWorkers(const StepChange& run, bool everywhere) const {
    Stale stale;
    const auto rendered = RenderStep(run.step, run.files_digest, it_.nodes);
    const std::string uid = NodeUid(*pod_->seen);
    for (int worker = 0; worker < static_cast<int>(WorkerCount(*pod_->seen)); ++worker) {
      if (run.selected && std::count(run.selected->begin(), run.selected->end(), worker) == 0) {
        continue;
      }
      const StepWorkerRecord* record = RecordOf(worker);
      const bool here = record != nullptr && record->uid == uid;
      std::string_view applied = here ? std::string_view(record->digest) : "";
      if (applied.starts_with(kNoUnitMark)) applied.remove_prefix(kNoUnitMark.size());
      const bool same = here && rendered && applied == rendered->digest;
      stale.recreated = stale.recreated || (record != nullptr && !here);
      stale.changed = stale.changed || (here && !same);
      stale.applied = stale.applied || here;
      // One alone has nobody to reach.
      const bool together = run.step.probes.value_or(false);
      if (everywhere || together || !same) stale.workers.push_back(worker);
    }
    return stale;
  }

  const StepWorkerRecord* RecordOf(int worker) const {
    if (record_ == nullptr) return nullptr;
    const auto applied = record_->workers.find(worker);
    return applied == record_->workers.end() ? nullptr : &applied->second;
  }

  const Kind& kind_;
  const PlanningContext it_;
  // Of the step that is being judged.
  Verdict verdict_;
  const PodFacts* pod_ = nullptr;
  const StepRecord* record_ = nullptr;
  bool again_ = false;
};

}  // namespace

std::vector<Declared> StepsOf(const Kind& kind, const PodSpec& pod) {
  std::vector<Declared> steps;
  steps.reserve(2 + pod.bootstrap.size());
  const Address whole = PodAddress(pod.name);
  const auto add = [&](const std::string& name, const SourcePlace& place, StepRequest request) {
    steps.push_back({StepAddress(pod.name, name), place, Payload(request, &kind), {whole}});
  };
  add(kRuntimeStepName, pod.place, {Step::Kind::kRestartRuntime});
  add(kReadinessStepName, pod.place, {Step::Kind::kReadiness});
  for (const StepSpec& step : pod.bootstrap)
    add(step.name, step.place, {Step::Kind::kScript, &step});
  return steps;
}

std::unique_ptr<KindPlan> BeginStepPlan(const Kind& kind, const PlanningContext& input) {
  return std::make_unique<StepPlan>(kind, input);
}

std::optional<UnusableReference> FindUnusableOf(const Step& step, const ReferenceLookup& lookup) {
  for (const auto& [name, text] : step.env) {
    auto found = step.kind == Step::Kind::kRestartRuntime ? FindUnusableVariable(text, lookup)
                                                          : FindUnusable(text, lookup);
    if (found) return found;
  }
  if (step.kind != Step::Kind::kScript) return std::nullopt;
  return FindUnusable(step.script, lookup, ReferenceUse::kShellText);
}

std::optional<RenderedStep> RenderStep(const Step& step, const std::string& files_digest,
                                       const ReferenceLookup& lookup) {
  RenderedStep rendered{step, {}};
  Value env = Value::EmptyMap();
  for (auto& [name, text] : rendered.step.env) {
    auto plain = step.kind == Step::Kind::kRestartRuntime ? RenderRuntimeVariables(text, lookup)
                                                          : RenderText(text, lookup);
    if (!plain) return std::nullopt;
    text = *plain;
    env.Set(name, text);
  }
  if (step.kind == Step::Kind::kRestartRuntime) {
    rendered.digest = RuntimeDigest(rendered.step.env[kRuntimeVariablesKey]);
    rendered.step.env.clear();
    return rendered;
  }
  if (step.kind == Step::Kind::kReadiness) {
    rendered.digest = Sha256Hex("readiness");
    return rendered;
  }
  if (step.kind == Step::Kind::kRequestXrt) {
    rendered.digest = Sha256Hex("request-xrt\n" + step.script);
    return rendered;
  }
  auto script = RenderText(step.script, lookup, ReferenceUse::kShellText);
  if (!script) return std::nullopt;
  rendered.step.script = *script;
  Value content = Value::EmptyMap();
  content.Set("run", *script);
  content.Set("env", std::move(env));
  content.Set("files", files_digest);
  Value::List destinations;
  for (const StepFile& file : step.files) destinations.emplace_back(file.destination);
  content.Set("destinations", std::move(destinations));
  rendered.digest = Sha256Hex(ToJson(content));
  return rendered;
}

}  // namespace podctl
