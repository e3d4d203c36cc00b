#include "plans/engine/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plans/engine/declared_plan.h"
#include "plans/engine/graph.h"
#include "plans/engine/moves.h"
#include "plans/engine/targets.h"
#include "plans/kinds/pod/capacity.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/drift.h"
#include "plans/kinds/pod/node_ids.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/power.h"
#include "plans/kinds/pod/queued_verdict.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/triggers.h"
#include "plans/kinds/step/plan.h"
#include "providers/base/text.h"
#include "providers/slices.h"

namespace podctl {
namespace {

class Planner {
 public:
  Planner(const Spec& spec, const State& state, const Observation& observation,
          const PlanOptions& options, Diagnostics& diagnostics)
      : spec_(spec),
        state_(state),
        observation_(observation),
        options_(options),
        diagnostics_(diagnostics),
        again_(AddressesIn(options.replace)),
        steps_(state, Lookup(), again_, [this](const Address& address, Diagnostic diagnostic) {
          refusals_.emplace_back(address, std::move(diagnostic));
        }) {}

  Plan Run() {
    plan_.mode = options_.mode;
    plan_.targets = options_.targets;
    plan_.refreshed = options_.refresh;
    plan_.lineage = state_.lineage;
    plan_.serial = state_.serial;
    if (!options_.targets.empty() || !options_.replace.empty()) {
      const std::set<Address> known = KnownAddresses(spec_, state_);
      CheckAddresses("--target", options_.targets, known, options_.kinds, diagnostics_);
      CheckAddresses("--replace", options_.replace, known, options_.kinds, diagnostics_);
    }
    plan_.changes.reserve(std::max(spec_.pods.size(), Pods(state_).size()));
    if (options_.mode == PlanMode::kRefreshOnly) {
      PlanRefresh();
    } else {
      PlanChanges();
    }
    PlanDeclared({spec_, state_, observation_, options_, again_, Lookup(),
                  [this](const Address& base, Change* change) { AddWaits(base, change); },
                  [this](const Address& address, Diagnostic refusal) {
                    refusals_.emplace_back(address, std::move(refusal));
                  }},
                 &plan_);
    Narrow();
    DropIdleWaits(&plan_);
    return std::move(plan_);
  }

 private:
  struct Deposed {
    Address address;  // of the pod
    std::string node_id;
    NodeName node;
    std::string reason;
  };

  ReferenceLookup Lookup() const {
    return [this](const Address& of) {
      const auto it = of.kind == kPodKind ? known_.find(of.name) : known_.end();
      return it == known_.end() ? nullptr : it->second;
    };
  }

  const PodRecord* RecordOf(const Address& address) const { return Pods(state_).Get(address); }

  void Refuse(const SourcePlace& place, const Address& address, std::string summary,
              std::string detail) {
    Diagnostic diagnostic;
    diagnostic.summary = std::move(summary);
    diagnostic.place = place;
    diagnostic.context = address.Text();
    diagnostic.detail = std::move(detail);
    refusals_.emplace_back(address, std::move(diagnostic));
  }

  static PodChange& PodOf(Change* change) { return *change->payload.Edit<PodChange>(); }

  void Add(Change change) {
    if (const auto moved = options_.moved.find(change.address); moved != options_.moved.end()) {
      change.previous_address = moved->second;
    }
    of_pod_[PodNameOf(change.address)].push_back(plan_.changes.size());
    plan_.changes.push_back(std::move(change));
  }

  void PlanChanges() {
    std::set<Address> named;
    if (options_.mode != PlanMode::kDestroy) {
      for (const PodSpec* pod : InDependencyOrder(spec_)) {
        named.insert(PodAddress(pod->name));
        PlanPod(*pod);
      }
    }
    std::map<Address, std::vector<Address>> dependents;
    for (const auto& [address, record] : Pods(state_)) {
      for (const Address& dependency : record.depends_on) {
        dependents[dependency].push_back(address);
      }
    }
    for (const auto& [address, record] : Pods(state_)) {
      if (!named.contains(address)) PlanDelete(address, record, dependents[address]);
      for (const Object& deposed : record.deposed) {
        deposed_.push_back({address, deposed.locator, NameOf(record, deposed),
                            "an earlier run replaced it, and was not done"});
      }
    }
    for (const PodSpec& pod : spec_.pods) {
      for (const Address& dependency : pod.depends_on) {
        dependents[dependency].push_back(PodAddress(pod.name));
      }
    }
    for (const Declared& declared : spec_.declared) {
      for (const Address& base : declared.builds_on) dependents[base].push_back(declared.address);
    }
    for (const Deposed& deposed : deposed_) PlanDeposed(deposed, dependents[deposed.address]);
  }

  void PlanPod(const PodSpec& given) {
    const Address address = PodAddress(given.name);
    const PodRecord* record = RecordOf(address);
    PodSpec pod = given;
    SettleNode(record, &pod);
    Change change;
    change.address = address;
    change.payload = PodChange{.wanted = pod, .node = NameOf(pod)};
    change.place = pod.place;
    for (const Address& dependency : pod.depends_on) AddWaits(dependency, &change);

    if (record == nullptr) {
      PlanNew(pod, &change);
    } else {
      PlanKnown(pod, *record, &change);
    }
    const bool lives_on = LivesOn(change);
    const Value* node = observation_.Find(AsPod(change)->node);
    if (lives_on && node != nullptr && !refused_.contains(address)) {
      if (!IsKeep(change)) planned_[pod.name] = NodeAfter(*node, change.attributes);
      known_[pod.name] = IsKeep(change) ? node : &planned_[pod.name];
    }
    const bool refused = lives_on && (node == nullptr || refused_.contains(address));
    Add(std::move(change));
    if (refused || StaysStopped(pod, lives_on ? node : nullptr)) return;
    for (PlannedStep& step :
         steps_.Plan({pod, record, lives_on ? node : nullptr, plan_.changes.back()})) {
      if (step.again) triggers_.NoteStepAgain(step.change.address);
      Add(std::move(step.change));
    }
  }

  // A pod that waits for another waits for its bootstrap too, as dependents expect a working pod.
  void AddWaits(const Address& dependency, Change* change) const {
    if (dependency.kind != kPodKind) return change->waits_for.push_back(dependency);
    const auto changes = of_pod_.find(dependency.name);
    if (changes == of_pod_.end()) return;
    for (std::size_t index : changes->second) {
      const Address& address = plan_.changes[index].address;
      if (address.deposed.empty()) change->waits_for.push_back(address);
    }
  }

  void PlanNew(const PodSpec& pod, Change* change) {
    const NodeName& node = AsPod(*change)->node;
    const NodeName first = node.slices > 1 ? SliceName(node, 0) : node;
    if (observation_.Find(node) != nullptr || observation_.Find(first) != nullptr) {
      RefuseTaken(pod, change->address, first);
      return;
    }
    const auto queued =
        pod.queued ? observation_.queued.find(QueuedNameOf(pod)) : observation_.queued.end();
    if (queued != observation_.queued.end()) {
      refused_.insert(change->address);
      refusals_.emplace_back(change->address, QueueTaken(pod, change->address, queued->second,
                                                         state_, options_.state_place));
      return;
    }
    PlanCreate(pod, false, change);
  }

  // `first`: the first node of those that it stands for.
  void RefuseTaken(const PodSpec& pod, const Address& address, const NodeName& first) {
    refused_.insert(address);
    const Value* node = observation_.Find(NameOf(pod));
    const Value* one = observation_.Find(first);
    const bool going = IsGoing(node) || IsGoing(one);
    std::string detail =
        going ? GoingHint("nodeId")
              : TakenHint(pod, address, node == nullptr ? one : node, state_, options_.state_place);
    for (const auto& [other, record] : Pods(state_)) {
      if (NameOf(record) != NameOf(pod) || other == address) continue;
      detail = fmt::format(
          "It is {} in the state. Keep that name, say that it moved with `moved: [{{from: {}, to: "
          "{}}}]`, or give this pod a `nodeId` of its own.",
          other, other, address);
    }
    Refuse(pod.place, address,
           fmt::format("a node named `{}` {} {}", pod.node_id,
                       going ? "is still being deleted in" : "already exists in", pod.zone),
           detail);
  }

  void PlanCreate(const PodSpec& pod, bool resume, Change* change) {
    change->verb = Verb::kCreate;
    change->begun = resume;
    change->attributes = NewAttributes(pod, Lookup());
  }

  void PlanKnown(const PodSpec& pod, const PodRecord& record, Change* change) {
    const bool ours = record.exists() || record.pending().has_value();
    const Value* node = ours ? observation_.Find(NameOf(record)) : nullptr;
    NoteDrift(change->address, pod, record, node);
    const Value* queued = observation_.FindQueued(record);
    const bool told = queued != nullptr && PlanQueued({pod, record, node, *queued}, change);
    if (!told && node == nullptr) PlanWithoutNode(pod, record, change);
    if (!told && node != nullptr) PlanWithNode(pod, record, *node, change);
    GoOnRecovering(record, change);
  }

  void PlanWithoutNode(const PodSpec& pod, const PodRecord& record, Change* change) {
    const bool begun = record.pending() && record.pending()->kind == PendingAction::Kind::kCreate;
    if (begun && NameOf(record) == AsPod(*change)->node) {
      const bool heard = !record.pending()->operation.empty();
      change->reason = heard ? "its creation, begun by an earlier run, is under way"
                             : "an earlier run ended before it heard whether its creation began";
      return PlanCreate(pod, heard, change);
    }
    ExplainMissing(pod, record, change);
    PlanNew(pod, change);
  }

  void PlanWithNode(const PodSpec& pod, const PodRecord& record, const Value& node,
                    Change* change) {
    const std::string state = NodeState(node);
    const PodDiff diff = Diff(pod, record, node);
    if (NameOf(record) != AsPod(*change)->node) {
      PlanMove(pod, record, diff, change);
    } else if (state == "CREATING") {
      change->reason = "its creation, begun by an earlier run, is under way";
      PlanCreate(pod, true, change);
    } else if (IsTerminalState(state) || state == "DELETING") {
      // preventDestroy does not hold here: there is nothing left that it could protect.
      change->reason_code = ReasonCode::kTainted;
      change->reason = state == "DELETING" ? "it is being deleted" : "it is " + state;
      PodOf(change).node_state = state;
      if (state != "DELETING") PodOf(change).lost = state;
      change->attributes = NewAttributes(pod, Lookup());
      ChooseReplace(pod, record, change);
    } else {
      PlanExisting(pod, record, diff, node, change);
    }
    triggers_.NotePod(*change, diff.attributes);
  }

  // A pod whose queued resource is there. False: its node says what is to be done.
  bool PlanQueued(const QueuedPod& it, Change* change) {
    QueuedVerdict verdict = JudgeQueued(it.record, it.queued, it.node != nullptr);
    if (verdict.kind == QueuedVerdict::Kind::kNodeTells) return false;
    PodDiff diff;
    if (verdict.kind == QueuedVerdict::Kind::kWaits) {
      const Value::List& specs = it.queued["tpu"]["nodeSpec"].AsList();
      if (!specs.empty()) diff = Diff(it.pod, it.record, specs.front()["node"]);
      std::erase_if(diff.attributes, [](const auto& each) { return !each.forces_replacement; });
      change->reason = verdict.reason;
      PlanCreate(it.pod, true, change);
      const bool same = !diff.forces_replacement && NameOf(it.record) == AsPod(*change)->node;
      if (same && !again_.contains(change->address)) return true;
      verdict.reason = same ? "it was requested" : "the spec asks for something else by now";
      change->reason_code = same ? ReasonCode::kByRequest : ReasonCode::kCannotUpdate;
    } else {
      change->reason_code = ReasonCode::kTainted;
    }
    // preventDestroy does not hold here: there is nothing (yet, or left) that it could protect.
    change->reason = verdict.reason;
    PodOf(change).lost = verdict.lost;
    change->attributes =
        diff.attributes.empty() ? CreateAttributes(it.pod, Lookup()) : diff.attributes;
    ChooseReplace(it.pod, it.record, change);
    triggers_.NotePod(*change, diff.attributes);
    return true;
  }

  PodDiff Diff(const PodSpec& pod, const PodRecord& record, const Value& node) const {
    const bool remembered = observation_.remembered.contains(NameOf(record));
    return DiffPod(pod, &record, node, Lookup(), remembered ? &state_.digest_key : nullptr);
  }

  // The node has another place or name than the spec wants.
  void PlanMove(const PodSpec& pod, const PodRecord& record, PodDiff diff, Change* change) {
    const NodeName& node = AsPod(*change)->node;
    if (observation_.Find(node) != nullptr) RefuseTaken(pod, change->address, node);
    const auto add = [&](const char* path, const std::string& before, const std::string& after) {
      if (before != after) {
        diff.attributes.push_back({path, Value(before), Value(after), true, false, true});
      }
    };
    add("nodeId", record.current.locator, pod.node_id);
    add("zone", record.zone, pod.zone);
    add("project", record.project, pod.project);
    ReplaceForDifference(diff, change);
    PlanReplace(pod, record, change);
  }

  static void ReplaceForDifference(const PodDiff& diff, Change* change) {
    std::vector<std::string> reasons;
    for (const AttributeChange& attribute : diff.attributes) {
      if (attribute.forces_replacement) reasons.push_back(attribute.path);
    }
    change->reason_code = ReasonCode::kCannotUpdate;
    change->reason = fmt::format("{} cannot be changed in place", fmt::join(reasons, ", "));
    change->attributes = diff.attributes;
  }

  void PlanExisting(const PodSpec& pod, const PodRecord& record, const PodDiff& diff,
                    const Value& node, Change* change) {
    const std::string trigger = record.replace_because().empty() ? triggers_.Fired(pod.lifecycle)
                                                                 : record.replace_because();
    if (diff.forces_replacement) {
      ReplaceForDifference(diff, change);
    } else if (again_.contains(change->address)) {
      change->reason_code = ReasonCode::kByRequest;
      change->reason = "it was requested";
      change->attributes = diff.attributes;
    } else if (!trigger.empty()) {
      change->reason_code = ReasonCode::kByTriggers;
      change->reason = trigger;
      change->attributes = diff.attributes;
    } else {
      PlanInPlace(pod, diff, node, change);
      return;
    }
    if (pod.desired_state == "STOPPED") AddStateChange(&node, pod, &change->attributes);
    PlanReplace(pod, record, change);
  }

  void PlanInPlace(const PodSpec& pod, const PodDiff& diff, const Value& node, Change* change) {
    const std::optional<Power> power = WantedPower(pod, node);
    if (power == Power::kStop && WorkerCount(node) > 1) {
      Refuse(pod.place, change->address,
             fmt::format("pod `{}` has {} and cannot be stopped", pod.name,
                         Plural(WorkerCount(node), "worker")),
             "Only single-host nodes can be stopped; others can only be deleted.");
    }
    if (diff.patch_fields.empty() && !power) return;
    change->verb = Verb::kUpdate;
    PodOf(change).fields = diff.patch_fields;
    PodOf(change).power = power;
    change->attributes = diff.attributes;
    if (power) AddStateChange(&node, pod, &change->attributes);
  }

  void PlanReplace(const PodSpec& pod, const PodRecord& record, Change* change) {
    if (record.prevent_destroy || pod.lifecycle.prevent_destroy) {
      Refuse(pod.place, change->address, fmt::format("{} must not be destroyed", change->address),
             fmt::format("This plan would replace it, because {}, but `lifecycle.preventDestroy` "
                         "protects it.",
                         change->reason));
    }
    ChooseReplace(pod, record, change);
  }

  // Which of the two nodes comes first.
  void ChooseReplace(const PodSpec& pod, const PodRecord& record, Change* change) {
    change->verb = Verb::kDeleteThenCreate;
    change->begun = false;
    if (!pod.lifecycle.create_before_destroy) return;
    if (pod.project != record.project || pod.zone != record.zone) {
      Refuse(pod.place, change->address, "createBeforeDestroy cannot be kept for this replacement",
             "The pod moves to another zone or project, where podctl cannot have two nodes of one "
             "pod. Remove `lifecycle.createBeforeDestroy` to have the old node deleted first, or "
             "give the pod of the new zone another name.");
      return;
    }
    if (record.queued) {
      Refuse(pod.place, change->address, "createBeforeDestroy cannot be kept for this replacement",
             "The old node comes from a queued resource, which is deleted with it. Remove "
             "`lifecycle.createBeforeDestroy` to have it deleted first.");
      return;
    }
    PodSpec fresh = pod;
    if (pod.node_id == record.current.locator) {
      ChooseFreeNodeId([this](const NodeName& name) { return IsTaken(name); }, &fresh);
    }
    taken_.insert(NameOf(fresh));
    change->verb = Verb::kCreateThenDelete;
    PodOf(change).node = NameOf(fresh);
    PodOf(change).wanted = std::move(fresh);
    deposed_.push_back(
        {change->address, record.current.locator, NameOf(record), "its replacement is made first"});
  }

  bool IsTaken(const NodeName& name) {
    if (!std::exchange(knows_taken_, true)) {
      for (const PodSpec& pod : spec_.pods) {
        PodSpec settled;
        settled.node_id = pod.node_id;
        settled.node_id_given = pod.node_id_given;
        SettleNode(RecordOf(PodAddress(pod.name)), &settled);
        taken_.insert({pod.project, pod.zone, settled.node_id});
      }
      for (const auto& [address, record] : Pods(state_)) {
        taken_.insert(NameOf(record));
        for (const Object& deposed : record.deposed) taken_.insert(NameOf(record, deposed));
      }
    }
    return taken_.contains(name) || observation_.Find(name) != nullptr;
  }

  void NoteDrift(const Address& address, const PodSpec& pod, const PodRecord& record,
                 const Value* node) {
    if (!options_.refresh &&
        (node == nullptr || observation_.remembered.contains(NameOf(record)))) {
      return;  // nobody looked
    }
    const bool only_news = options_.mode == PlanMode::kRefreshOnly;
    auto found = FindDrift(address, {pod, record, node, state_.digest_key, only_news,
                                     observation_.FindQueued(record)});
    std::move(found.begin(), found.end(), std::back_inserter(plan_.drift));
  }

  void PlanDelete(const Address& address, const PodRecord& record,
                  const std::vector<Address>& dependents) {
    Change change;
    change.address = address;
    const NodeName node = NameOf(record);
    change.payload = PodChange{.wanted = {}, .node = node};
    if (options_.mode != PlanMode::kDestroy) {
      change.reason_code = ReasonCode::kNoConfiguration;
      change.reason = "it is not in the spec";
    }
    const bool coming = record.pending() && record.pending()->kind == PendingAction::Kind::kCreate;
    const bool queued = observation_.FindQueued(record) != nullptr;
    const bool there =
        queued || ((record.exists() || coming) && observation_.Find(node) != nullptr);
    change.verb = there || coming ? Verb::kDelete : Verb::kForget;
    change.attributes = DeleteAttributes(record);
    if (record.prevent_destroy && there) {
      Refuse({}, address, fmt::format("{} must not be destroyed", address),
             "`lifecycle.preventDestroy` protects it. Put the pod back into the spec with "
             "`preventDestroy: false` and apply that first.");
    }
    // Whoever was built on it goes, or is changed, before it does.
    change.waits_for = dependents;
    deleted_.insert(address);
    Add(std::move(change));
  }

  // The old node goes when the new one works and nobody is built on the old one any more.
  void PlanDeposed(const Deposed& deposed, const std::vector<Address>& dependents) {
    Change change;
    change.address = deposed.address;
    change.address.deposed = deposed.node_id;
    change.payload = PodChange{.wanted = {}, .node = deposed.node};
    change.verb = Verb::kDelete;
    change.reason = deposed.reason;
    AddWaits(deposed.address, &change);
    // Where the pod goes as well, neither node has to wait for the other.
    if (deleted_.contains(deposed.address)) std::erase(change.waits_for, deposed.address);
    for (const Address& dependent : dependents) AddWaits(dependent, &change);
    Add(std::move(change));
  }

  // Nothing is done; what has drifted is shown, to be taken into the state.
  void PlanRefresh() {
    std::map<Address, const PodSpec*> specs;
    for (const PodSpec& pod : spec_.pods) specs[PodAddress(pod.name)] = &pod;
    for (const auto& [address, record] : Pods(state_)) {
      const auto spec = specs.find(address);
      PodSpec pod = spec == specs.end() ? PodSpec{} : *spec->second;
      SettleNode(&record, &pod);
      if (record.exists()) NoteDrift(address, pod, record, observation_.Find(NameOf(record)));
      if (spec == specs.end()) continue;
      Change change;
      change.address = address;
      change.place = pod.place;
      change.payload = PodChange{.wanted = std::move(pod), .node = NameOf(record)};
      Add(std::move(change));
    }
  }

  // Leaves of the plan what the targets reach, and of what speaks against it what concerns them.
  void Narrow() {
    std::set<Address> reach;
    if (!options_.targets.empty()) {
      reach = ReachOf(options_.targets, plan_);
      for (const Address& target : AddressesIn(options_.targets)) {
        if (options_.mode == PlanMode::kRefreshOnly) reach.insert(PodAddress(PodNameOf(target)));
      }
      RefuseMovesLeftOut(options_.moved, reach, diagnostics_);
      std::erase_if(plan_.changes,
                    [&](const Change& change) { return !reach.contains(change.address); });
      std::erase_if(plan_.drift,
                    [&](const Drift& drift) { return !reach.contains(drift.address); });
    }
    const std::set<Address> targets = AddressesIn(options_.targets);
    for (auto& [address, diagnostic] : refusals_) {
      const bool concerns = options_.targets.empty() || reach.contains(address) ||
                            targets.contains(PodAddress(PodNameOf(address)));
      if (concerns) diagnostics_.Add(std::move(diagnostic));
    }
  }

  const Spec& spec_;
  const State& state_;
  const Observation& observation_;
  const PlanOptions& options_;
  Diagnostics& diagnostics_;
  const std::set<Address> again_;
  StepPlanner steps_;
  Triggers triggers_;
  Plan plan_;
  std::map<std::string, std::vector<std::size_t>> of_pod_;  // indices of changes, by pod
  std::map<std::string, Value> planned_;       // nodes as this plan will have changed them
  std::map<std::string, const Value*> known_;  // those that references may be read from
  std::vector<Deposed> deposed_;
  std::set<Address> deleted_;  // addresses of pods that go
  std::set<NodeName> taken_;   // filled when first asked
  bool knows_taken_ = false;
  std::set<Address> refused_;                             // addresses whose node is somebody else's
  std::vector<std::pair<Address, Diagnostic>> refusals_;  // by address
};

}  // namespace

Plan MakePlan(const Spec& spec, const State& state, const Observation& observation,
              const PlanOptions& options, Diagnostics& diagnostics) {
  return Planner(spec, state, observation, options, diagnostics).Run();
}

}  // namespace podctl
