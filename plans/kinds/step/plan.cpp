#include "plans/kinds/step/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "plans/engine/planner.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/step/runtime_unit.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/gcp/accelerator_catalog.h"

namespace podctl {

struct StepPlanner::Stale {
  std::vector<int> workers;
  bool changed = false;    // it ran on this node, as it was then
  bool recreated = false;  // it ran on the node before this one
  bool applied = false;    // it ran somewhere on this node
};

std::vector<PlannedStep> StepPlanner::Plan(const StepQuestion& question) const {
  std::vector<PlannedStep> steps;
  if (question.node != nullptr) {
    PlanRestart(question, &steps);
    PlanReadiness(question, &steps);
  }
  for (const StepSpec& step : question.pod.bootstrap) {
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
    if (!step.workers_by_slice.empty()) {
      if (!ResolveSlices(question, step, &run)) continue;
    } else if (question.node != nullptr) {
      CheckSelection(question, step);
    }
    PlanOne(question, step.name, step.place, std::move(run), false, &steps);
  }
  return steps;
}

// What the spec names by slice as numbers, where the pod is there; else how many they will be, as
// far as that is known. False when it is refused.
bool StepPlanner::ResolveSlices(const StepQuestion& question, const StepSpec& step,
                                StepChange* run) const {
  const PodSpec& pod = question.pod;
  const int slices = pod.queued ? pod.queued->slices : 1;
  const bool known = question.node != nullptr;
  const int per_slice = slices < 2 ? 0
                        : known    ? WorkersPerSlice(*question.node)
                                   : gcp::ExpectedWorkers(pod.node).value_or(0);
  if (!known) run->workers_by_slice = step.workers_by_slice;
  if (!known && slices > 1 && per_slice == 0) return true;
  const auto selection = WorkerSelection::Parse(step.workers_by_slice);
  const auto numbers = selection
                           ? selection->Of(static_cast<std::size_t>(per_slice) * slices, per_slice)
                           : Result<std::vector<int>>(selection.error());
  if (numbers) {
    run->expected_workers = numbers->size();
    if (known) run->selected = *numbers;
    return true;
  }
  Diagnostic diagnostic;
  diagnostic.summary = numbers.error().message;
  diagnostic.place = step.place;
  const Address address = StepAddress(pod.name, step.name);
  diagnostic.context = address.Text();
  refuse_(address, diagnostic);
  return false;
}

void StepPlanner::CheckSelection(const StepQuestion& question, const StepSpec& step) const {
  const std::size_t count = WorkerCount(*question.node);
  for (int worker : step.workers.value_or(std::vector<int>{})) {
    if (worker < static_cast<int>(count)) continue;
    Diagnostic diagnostic;
    diagnostic.summary = fmt::format("there is no worker {}: pod `{}` has {}", worker,
                                     question.pod.name, Plural(count, "worker"));
    diagnostic.place = step.place;
    const Address address = StepAddress(question.pod.name, step.name);
    diagnostic.context = address.Text();
    refuse_(address, diagnostic);
    return;
  }
}

void StepPlanner::PlanRestart(const StepQuestion& question, std::vector<PlannedStep>* steps) const {
  const PodSpec& pod = question.pod;
  const Address address = StepAddress(pod.name, kRuntimeStepName);
  const std::string path = std::string("metadata.") + kRuntimeVariablesKey;
  auto entry = pod.metadata.find(kRuntimeVariablesKey);
  const bool wanted = entry != pod.metadata.end();
  const bool known = wanted || again_.contains(address) || Steps(state_).contains(address) ||
                     question.record->metadata.contains(kRuntimeVariablesKey);
  if (WorkerCount(*question.node) < 2 || IsIgnored(pod, path) || !known) return;
  // The flags are for what podctl starts there: nothing on the workers would read them anew.
  const auto unit = ImageHasRuntimeUnit((*question.node)["runtimeVersion"].AsString());
  if (unit && !*unit && !again_.contains(address)) return;
  StepChange run;
  run.step.kind = Step::Kind::kRestartRuntime;
  run.step.env[kRuntimeVariablesKey] = wanted ? entry->second.text : "";
  run.sensitive = wanted && entry->second.sensitive;
  const auto& attributes = question.pod_change.attributes;
  const bool patched = std::any_of(attributes.begin(), attributes.end(),
                                   [&](const auto& attribute) { return attribute.path == path; });
  // A patch of the entry makes every worker stale, whatever was remembered of it.
  PlanOne(question, kRuntimeStepName, pod.place, std::move(run), patched, steps);
}

// A new node is proved ready as a part of its creation; this is for what that left undone.
void StepPlanner::PlanReadiness(const StepQuestion& question,
                                std::vector<PlannedStep>* steps) const {
  const Address address = StepAddress(question.pod.name, kReadinessStepName);
  const bool outstanding = question.pod.check_ready && Steps(state_).contains(address);
  if (!outstanding && !again_.contains(address)) return;
  StepChange run;
  run.step.kind = Step::Kind::kReadiness;
  run.step.timeout = question.pod.boot_timeout.value_or(run.step.timeout);
  PlanOne(question, kReadinessStepName, question.pod.place, std::move(run), false, steps);
}

void StepPlanner::PlanOne(const StepQuestion& question, const std::string& name,
                          const SourcePlace& place, StepChange run, bool everywhere,
                          std::vector<PlannedStep>* steps) const {
  PlannedStep planned;
  Change& change = planned.change;
  change.address = StepAddress(question.pod.name, name);
  change.verb = Verb::kRun;
  run.node = NameOf(question.pod);
  change.place = place;
  change.waits_for = {PodAddress(question.pod.name)};
  for (const PlannedStep& before : *steps) change.waits_for.push_back(before.change.address);
  if (question.node == nullptr) {
    const int slices = question.pod.queued ? question.pod.queued->slices : 1;
    const auto expected = gcp::ExpectedWorkers(question.pod.node).value_or(0) * slices;
    if (run.selected) {
      run.expected_workers = run.selected->size();
    } else if (run.workers_by_slice.empty()) {
      run.expected_workers = static_cast<std::size_t>(expected);
    }
    run.workers = run.selected;
    change.reason = "the pod is new";
    planned.again = IsReplace(question.pod_change);
  } else {
    const Step::Kind kind = run.step.kind;
    const bool requested = again_.contains(change.address);
    Stale stale = StaleWorkers(change.address, run, *question.node, everywhere || requested);
    if (stale.workers.empty()) return;
    run.expected_workers = stale.workers.size();
    run.workers = std::move(stale.workers);
    run.per_slice = WorkersPerSlice(*question.node);
    planned.again = everywhere || requested || stale.changed || stale.recreated;
    if (requested) {
      change.reason_code = ReasonCode::kByRequest;
      change.reason = "it was requested";
    } else if (kind == Step::Kind::kReadiness) {
      change.reason = "not every worker was proved to be usable";
    } else if (kind == Step::Kind::kRestartRuntime) {
      change.reason = everywhere ? "tensorflow-env-vars changes"
                                 : "not every worker runs with the current tensorflow-env-vars";
    } else if (stale.recreated) {
      change.reason = "the pod was made anew";
    } else {
      change.reason = stale.changed   ? "the step changed"
                      : stale.applied ? "it has not succeeded everywhere"
                                      : "it has not run yet";
    }
  }
  change.payload = std::move(run);
  steps->push_back(std::move(planned));
}

StepPlanner::Stale StepPlanner::StaleWorkers(const Address& address, const StepChange& run,
                                             const Value& node, bool everywhere) const {
  Stale stale;
  const auto rendered = RenderStep(run.step, run.files_digest, lookup_);
  const std::string uid = NodeUid(node);
  for (int worker = 0; worker < static_cast<int>(WorkerCount(node)); ++worker) {
    if (run.selected && std::count(run.selected->begin(), run.selected->end(), worker) == 0) {
      continue;
    }
    const StepWorkerRecord* record = RecordOf(address, worker);
    const bool here = record != nullptr && record->uid == uid;
    std::string_view applied = here ? std::string_view(record->digest) : "";
    if (applied.starts_with(kNoUnitMark)) applied.remove_prefix(kNoUnitMark.size());
    const bool same = here && rendered && applied == rendered->digest;
    stale.recreated = stale.recreated || (record != nullptr && !here);
    stale.changed = stale.changed || (here && !same);
    stale.applied = stale.applied || here;
    if (everywhere || !same) stale.workers.push_back(worker);
  }
  return stale;
}

const StepWorkerRecord* StepPlanner::RecordOf(const Address& step, int worker) const {
  const StepRecord* record = Steps(state_).Get(step);
  if (record == nullptr) return nullptr;
  auto applied = record->workers.find(worker);
  return applied == record->workers.end() ? nullptr : &applied->second;
}

std::string RuntimeDigest(const std::string& tensorflow_env_vars) {
  return Sha256Hex("restart-runtime\n" + tensorflow_env_vars);
}

std::optional<RenderedStep> RenderStep(const Step& step, const std::string& files_digest,
                                       const ReferenceLookup& lookup) {
  RenderedStep rendered{step, {}};
  Value env = Value::EmptyMap();
  for (auto& [name, text] : rendered.step.env) {
    auto plain = RenderText(text, lookup);
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
  auto script = RenderText(step.script, lookup);
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
