#include "plans/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plans/diff.h"
#include "plans/graph.h"
#include "plans/node_view.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/accelerator_catalog.h"
#include "state/digest.h"

namespace podctl {
namespace {

class Planner {
 public:
  Planner(const Spec& spec, const State& state, const Observation& observation,
          Diagnostics& diagnostics)
      : spec_(spec), state_(state), observation_(observation), diagnostics_(diagnostics) {}

  Plan Run() {
    plan_.lineage = state_.lineage;
    plan_.serial = state_.serial;
    for (const PodSpec* pod : InDependencyOrder(spec_)) PlanPod(*pod);
    for (const auto& [address, record] : state_.pods) {
      if (!named_.contains(address)) PlanDelete(address, record);
    }
    DropIdleWaits(&plan_);
    return std::move(plan_);
  }

 private:
  NodeLookup Lookup() const {
    return [this](const std::string& pod) -> const Value* {
      auto it = known_.find(pod);
      return it == known_.end() ? nullptr : it->second;
    };
  }

  const PodRecord* RecordOf(const std::string& address) const {
    auto it = state_.pods.find(address);
    return it == state_.pods.end() ? nullptr : &it->second;
  }

  void Refuse(const PodSpec* pod, const std::string& address, std::string summary,
              std::string detail) {
    Diagnostic diagnostic;
    diagnostic.summary = std::move(summary);
    if (pod != nullptr) diagnostic.place = pod->place;
    diagnostic.context = address;
    diagnostic.detail = std::move(detail);
    diagnostics_.Add(std::move(diagnostic));
  }

  void PlanPod(const PodSpec& pod) {
    const std::string address = PodAddress(pod.name);
    named_.insert(address);
    Change change;
    change.address = address;
    change.pod = pod.name;
    change.node = NameOf(pod);
    change.place = pod.place;
    for (const std::string& dependency : pod.depends_on) AddWaits(dependency, &change);

    const PodRecord* record = RecordOf(address);
    if (record == nullptr) {
      PlanNew(pod, &change);
    } else {
      PlanKnown(pod, *record, &change);
    }
    const bool lives_on =
        std::holds_alternative<Keep>(change.action) || std::holds_alternative<Patch>(change.action);
    const Value* node = observation_.Find(change.node);
    if (lives_on && node != nullptr) known_[pod.name] = node;
    const bool refused = lives_on && record == nullptr;  // the node is somebody else's
    plan_.changes.push_back(std::move(change));
    if (!refused) PlanSteps(pod, record, lives_on ? node : nullptr);
  }

  // A pod that waits for another waits for its bootstrap too, as dependents expect a working pod.
  void AddWaits(const std::string& dependency, Change* change) {
    for (const Change& other : plan_.changes) {
      if (PodAddress(other.pod) == dependency) change->waits_for.push_back(other.address);
    }
  }

  void PlanNew(const PodSpec& pod, Change* change) {
    if (observation_.Find(change->node) != nullptr) {
      RefuseTaken(pod, change->address);
      change->action = Keep{pod};
      return;
    }
    PlanCreate(pod, false, change);
  }

  void RefuseTaken(const PodSpec& pod, const std::string& address) {
    std::string detail =
        "podctl did not make it and will not touch it. Give this pod another `nodeId`, or delete "
        "the node first.";
    for (const auto& [other, record] : state_.pods) {
      if (NameOf(record) != NameOf(pod)) continue;
      detail = fmt::format(
          "It is {} in the state. Keep that name, or give this pod a `nodeId` of "
          "its own.",
          other);
    }
    Refuse(&pod, address,
           fmt::format("a node named `{}` already exists in {}", pod.node_id, pod.zone), detail);
  }

  void PlanCreate(const PodSpec& pod, bool resume, Change* change) {
    change->action = Create{pod, resume};
    change->attributes = CreateAttributes(pod, Lookup());
  }

  void PlanKnown(const PodSpec& pod, const PodRecord& record, Change* change) {
    const Value* node = observation_.Find(NameOf(record));
    if (node == nullptr) {
      const bool under_way = record.pending && record.pending->kind == PendingAction::Kind::kCreate;
      if (under_way && NameOf(record) == change->node) {
        change->reason = "its creation, begun by an earlier run, is under way";
        return PlanCreate(pod, true, change);
      }
      if (record.exists) {
        plan_.drift.push_back({Drift::Kind::kVanished,
                               change->address,
                               "is gone: the node was deleted outside of podctl",
                               {}});
      }
      return PlanNew(pod, change);
    }
    NoteDrift(pod, record, *node);
    const std::string state = NodeState(*node);
    if (NameOf(record) != change->node) return PlanMove(pod, record, *node, change);
    if (state == "CREATING") {
      change->reason = "its creation, begun by an earlier run, is under way";
      return PlanCreate(pod, true, change);
    }
    // preventDestroy does not hold here: there is nothing left that it could protect.
    if (IsTerminalState(state) || state == "DELETING") {
      change->reason = state == "DELETING" ? "it is being deleted" : "it is " + state;
      change->action = Replace{pod};
      change->attributes = CreateAttributes(pod, Lookup());
      return;
    }
    PlanExisting(pod, record, *node, change);
  }

  void PlanMove(const PodSpec& pod, const PodRecord& record, const Value& node, Change* change) {
    if (observation_.Find(change->node) != nullptr) RefuseTaken(pod, change->address);
    PodDiff diff = DiffPod(pod, &record, node, Lookup());
    const auto add = [&](const char* path, const std::string& before, const std::string& after) {
      if (before != after) {
        diff.attributes.push_back({path, Value(before), Value(after), true, false, true});
      }
    };
    add("nodeId", record.node_id, pod.node_id);
    add("zone", record.zone, pod.zone);
    add("project", record.project, pod.project);
    diff.forces_replacement = true;
    PlanReplace(pod, record, std::move(diff), change);
  }

  void PlanReplace(const PodSpec& pod, const PodRecord& record, PodDiff diff, Change* change) {
    std::vector<std::string> reasons;
    for (const AttributeChange& attribute : diff.attributes) {
      if (attribute.forces_replacement) reasons.push_back(attribute.path);
    }
    change->reason = fmt::format("{} cannot be changed in place", fmt::join(reasons, ", "));
    change->action = Replace{pod};
    change->attributes = std::move(diff.attributes);
    if (record.prevent_destroy || pod.lifecycle.prevent_destroy) {
      Refuse(&pod, change->address, fmt::format("{} must not be destroyed", change->address),
             fmt::format("This plan would replace it, because {}, but `lifecycle.preventDestroy` "
                         "protects it.",
                         change->reason));
    }
    if (pod.lifecycle.create_before_destroy) {
      Refuse(&pod, change->address, "createBeforeDestroy cannot be kept for this replacement",
             "podctl replaces a node by deleting it first, since its node id is taken until then. "
             "Remove `lifecycle.createBeforeDestroy` to allow that.");
    }
  }

  void PlanExisting(const PodSpec& pod, const PodRecord& record, const Value& node,
                    Change* change) {
    PodDiff diff = DiffPod(pod, &record, node, Lookup());
    if (diff.forces_replacement) return PlanReplace(pod, record, std::move(diff), change);
    if (diff.patch_fields.empty()) {
      change->action = Keep{pod};
      return;
    }
    change->action = Patch{pod, std::move(diff.patch_fields)};
    change->attributes = std::move(diff.attributes);
  }

  void NoteDrift(const PodSpec& pod, const PodRecord& record, const Value& node) {
    const std::string address = PodAddress(pod.name);
    const std::string state = NodeState(node);
    const auto note = [&](Drift::Kind kind, std::string sentence) {
      plan_.drift.push_back({kind, address, std::move(sentence), {}});
    };
    if (IsTerminalState(state)) {
      return note(Drift::Kind::kTerminal, fmt::format("is {}", state));
    }
    if (state == "REPAIRING") note(Drift::Kind::kRepairing, "is REPAIRING");
    if (state == "STOPPED" || state == "STOPPING") {
      note(Drift::Kind::kStopped, fmt::format("is {}", state));
    }
    const std::string health = NodeHealth(node);
    if (!health.empty() && health != "HEALTHY" && state == "READY") {
      const std::string& why = node["healthDescription"].AsString();
      note(Drift::Kind::kUnhealthy,
           why.empty() ? "is " + health : fmt::format("is {}: {}", health, why));
    }
    auto changes = DiffDrift(pod, record, node, state_.digest_key);
    if (!changes.empty()) {
      plan_.drift.push_back(
          {Drift::Kind::kChanged, address, "was changed outside of podctl", std::move(changes)});
    }
  }

  void PlanDelete(const std::string& address, const PodRecord& record) {
    Change change;
    change.address = address;
    change.pod = address.substr(address.find('.') + 1);
    change.node = NameOf(record);
    change.reason = "it is not in the spec";
    const bool there = observation_.Find(change.node) != nullptr;
    const bool coming = record.pending && record.pending->kind == PendingAction::Kind::kCreate;
    change.action = Delete{!there && !coming};
    change.attributes = DeleteAttributes(record);
    if (record.prevent_destroy && there) {
      Refuse(nullptr, address, fmt::format("{} must not be destroyed", address),
             "`lifecycle.preventDestroy` protects it. Put the pod back into the spec with "
             "`preventDestroy: false` and apply that first.");
    }
    // Whoever was built on it goes, or is changed, before it does.
    for (const auto& [other, other_record] : state_.pods) {
      if (std::count(other_record.depends_on.begin(), other_record.depends_on.end(), address) > 0) {
        change.waits_for.push_back(other);
      }
    }
    plan_.changes.push_back(std::move(change));
  }

  // `node` is nullptr when the pod is about to be made: every step runs, and the runtime starts
  // with the new metadata by itself.
  void PlanSteps(const PodSpec& pod, const PodRecord* record, const Value* node) {
    std::vector<std::string> before = {PodAddress(pod.name)};
    if (node != nullptr) PlanRuntimeRestart(pod, *record, *node, &before);
    for (const StepSpec& step : pod.bootstrap) {
      RunStep run;
      run.step.script = step.run;
      run.step.env = step.env;
      run.step.files = step.files;
      run.step.timeout = step.timeout;
      run.files_digest = step.files_digest;
      run.sensitive = step.sensitive;
      run.selected = step.workers;
      if (node != nullptr) CheckSelection(pod, step, WorkerCount(*node));
      PlanStep(pod, step.name, step.place, std::move(run), node, &before);
    }
  }

  void CheckSelection(const PodSpec& pod, const StepSpec& step, std::size_t count) {
    for (int worker : step.workers.value_or(std::vector<int>{})) {
      if (worker < static_cast<int>(count)) continue;
      Diagnostic diagnostic;
      diagnostic.summary = fmt::format("there is no worker {}: pod `{}` has {}", worker, pod.name,
                                       Plural(count, "worker"));
      diagnostic.place = step.place;
      diagnostic.context = StepAddress(pod.name, step.name);
      diagnostics_.Add(std::move(diagnostic));
      return;
    }
  }

  void PlanRuntimeRestart(const PodSpec& pod, const PodRecord& record, const Value& node,
                          std::vector<std::string>* before) {
    const std::string address = StepAddress(pod.name, kRuntimeStepName);
    auto entry = pod.metadata.find(kRuntimeEnvKey);
    const bool wanted = entry != pod.metadata.end();
    if (WorkerCount(node) < 2 || IsIgnored(pod, std::string("metadata.") + kRuntimeEnvKey) ||
        (!wanted && !state_.steps.contains(address) && !record.metadata.contains(kRuntimeEnvKey))) {
      return;
    }
    RunStep run;
    run.step.kind = Step::Kind::kRestartRuntime;
    run.step.env[kRuntimeEnvKey] = wanted ? entry->second.text : "";
    run.sensitive = wanted && entry->second.sensitive;
    const Change& pod_change = plan_.changes.back();
    const bool patched = std::any_of(
        pod_change.attributes.begin(), pod_change.attributes.end(), [](const auto& attribute) {
          return attribute.path == std::string("metadata.") + kRuntimeEnvKey;
        });
    // A patch of the entry makes every worker stale, whatever was remembered of it.
    PlanStep(pod, kRuntimeStepName, pod.place, std::move(run), &node, before, patched);
  }

  void PlanStep(const PodSpec& pod, const std::string& name, const SourcePlace& place, RunStep run,
                const Value* node, std::vector<std::string>* before, bool everywhere = false) {
    Change change;
    change.address = StepAddress(pod.name, name);
    change.pod = pod.name;
    change.node = NameOf(pod);
    change.place = place;
    change.waits_for = *before;
    if (node == nullptr) {
      run.expected_workers = run.selected ? run.selected->size() : ExpectedWorkers(pod);
      run.workers = run.selected;
      change.reason = "the pod is new";
    } else {
      std::vector<int> stale = StaleWorkers(change.address, run, *node, everywhere, &change.reason);
      run.expected_workers = stale.size();
      if (stale.empty()) return;
      run.workers = std::move(stale);
    }
    before->push_back(change.address);
    change.action = std::move(run);
    plan_.changes.push_back(std::move(change));
  }

  static std::size_t ExpectedWorkers(const PodSpec& pod) {
    return static_cast<std::size_t>(gcp::ExpectedWorkers(pod.node).value_or(0));
  }

  std::vector<int> StaleWorkers(const std::string& address, const RunStep& run, const Value& node,
                                bool everywhere, std::string* reason) const {
    std::vector<int> stale;
    bool changed = false;    // it ran on this node, as it was then
    bool recreated = false;  // it ran on the node before this one
    bool applied = false;    // it ran somewhere on this node
    const auto rendered = RenderStep(run.step, run.files_digest, Lookup());
    const std::string uid = NodeUid(node);
    for (int worker = 0; worker < static_cast<int>(WorkerCount(node)); ++worker) {
      if (run.selected && std::count(run.selected->begin(), run.selected->end(), worker) == 0) {
        continue;
      }
      const StepWorkerRecord* record = RecordOf(address, worker);
      const bool here = record != nullptr && record->uid == uid;
      const bool same = here && rendered && record->digest == rendered->digest;
      recreated = recreated || (record != nullptr && !here);
      changed = changed || (here && !same);
      applied = applied || here;
      if (everywhere || !same) stale.push_back(worker);
    }
    if (run.step.kind == Step::Kind::kRestartRuntime) {
      *reason = everywhere ? "tensorflow-env-vars changes"
                           : "not every worker runs with the current tensorflow-env-vars";
    } else if (recreated) {
      *reason = "the pod was made anew";
    } else {
      *reason = changed   ? "the step changed"
                : applied ? "it has not succeeded everywhere"
                          : "it has not run yet";
    }
    return stale;
  }

  const StepWorkerRecord* RecordOf(const std::string& step, int worker) const {
    auto record = state_.steps.find(step);
    if (record == state_.steps.end()) return nullptr;
    auto applied = record->second.workers.find(worker);
    return applied == record->second.workers.end() ? nullptr : &applied->second;
  }

  const Spec& spec_;
  const State& state_;
  const Observation& observation_;
  Diagnostics& diagnostics_;
  Plan plan_;
  std::set<std::string> named_;
  std::map<std::string, const Value*> known_;  // nodes that references may be read from
};

}  // namespace

Plan MakePlan(const Spec& spec, const State& state, const Observation& observation,
              Diagnostics& diagnostics) {
  return Planner(spec, state, observation, diagnostics).Run();
}

std::string RuntimeDigest(const std::string& tensorflow_env_vars) {
  return Sha256Hex("restart-runtime\n" + tensorflow_env_vars);
}

std::optional<RenderedStep> RenderStep(const Step& step, const std::string& files_digest,
                                       const NodeLookup& lookup) {
  RenderedStep rendered{step, {}};
  Value env = Value::EmptyMap();
  for (auto& [name, text] : rendered.step.env) {
    auto plain = RenderText(text, lookup);
    if (!plain) return std::nullopt;
    text = *plain;
    env.Set(name, text);
  }
  if (step.kind == Step::Kind::kRestartRuntime) {
    rendered.digest = RuntimeDigest(rendered.step.env[kRuntimeEnvKey]);
    rendered.step.env.clear();
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
