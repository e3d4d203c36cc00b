#include "plans/kinds/pod/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <optional>
#include <set>
#include <utility>

#include "plans/engine/planner.h"
#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/drift.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/settle.h"
#include "plans/kinds/pod/shown.h"
#include "plans/kinds/pod/unaccounted_nodes.h"
#include "providers/base/text.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {
namespace {

// One is the other, or stands above it.
bool Overlap(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.starts_with(a) && (a.size() == b.size() || b[a.size()] == '.' || b[a.size()] == '[');
}

// What the service writes is another with another node.
bool IsOutputOnly(std::string_view path) {
  const gcp::Field* field = gcp::FindNodeField(path.substr(0, path.find_first_of(".[")));
  return field != nullptr && field->field_class == gcp::FieldClass::kOutputOnly;
}

std::string FiredBy(const std::string& trigger, const FactsLookup& facts) {
  const auto address = ParseAddress(trigger);
  if (!address) return {};
  if (address->kind != kPodKind) {
    const Facts* step = facts(*address);
    return step != nullptr && step->anew ? trigger + " runs again" : "";
  }
  const auto dot = trigger.find('.', 4);
  const Facts* pod = facts(PodAddress(trigger.substr(4, dot - 4)));
  if (pod == nullptr || (!pod->anew && pod->differences.empty())) return {};
  if (dot == std::string::npos) {
    return fmt::format("{} is {}", trigger, pod->anew ? "replaced" : "updated");
  }
  const std::string path = trigger.substr(dot + 1);
  const bool differs = std::any_of(
      pod->differences.begin(), pod->differences.end(),
      [&](const AttributeChange& difference) { return Overlap(difference.path, path); });
  return differs || (pod->anew && IsOutputOnly(path)) ? trigger + " changes" : "";
}

// Takes down what others may be triggered by. `differences`: what the spec wants otherwise than it
// is, of a pod that is patched or replaced.
void NoteDifferences(const Change& change, std::vector<AttributeChange> differences, Facts* facts) {
  facts->anew = IsReplace(change);
  // A node that is merely started or stopped is the same one.
  if (!facts->anew && AsPod(change)->fields.empty()) return;
  // Nor is one that lets another teammate in.
  std::erase_if(differences, [](const auto& each) { return IsKeyPath(each.path); });
  facts->differences = std::move(differences);
}

// The reason, as a clause ("pod.base is replaced"), or "". As in terraform, that another pod is
// made for the first time is no trigger.
std::string FindTrigger(const LifecycleSpec& lifecycle, const FactsLookup& facts) {
  for (const std::string& trigger : lifecycle.replace_triggered_by) {
    std::string reason = FiredBy(trigger, facts);
    if (!reason.empty()) return reason;
  }
  return {};
}

// Which node a pod of the spec is: the one that the state holds for it, unless the spec says
// otherwise. Sets `pod->node_id`, `pod->wanted_node_id` and `pod->zone` by what `record` (may be
// nullptr) holds.
//
// A node's id cannot be changed. So a pod whose spec writes no `nodeId` keeps the id that the state
// has, whatever the pod is called by now (`moved`, `podctl state mv`, `podctl import`); and one
// that `createBeforeDestroy` gave another id keeps that one, as long as the spec's own is the same.
//
// Nor can its zone: a pod with `capacity.zones` stays in the zone where there was room for it.
void ChooseNode(const PodRecord* record, PodSpec* pod) {
  if (record == nullptr) return;
  if (pod->capacity && record->project == pod->project) {
    const std::vector<std::string>& zones = pod->capacity->zones;
    const bool may_be_there = std::find(zones.begin(), zones.end(), record->zone) != zones.end();
    if (may_be_there) pod->zone = record->zone;
  }
  const bool stands = !pod->node_id_given || pod->node_id == record->wanted_node_id;
  if (!stands) return;
  pod->node_id = record->current.locator;
  pod->wanted_node_id = record->wanted_node_id;
}

// What has to be done so that `node` is in the state that the spec wants; nullopt: nothing, or the
// node is in a state from which neither leads there.
std::optional<Power> WantedPower(const PodSpec& pod, const Value& node) {
  const std::string state = NodeState(node);
  if (!pod.desired_state || state == *pod.desired_state) return std::nullopt;
  if (pod.desired_state == "READY") {
    const bool off = IsStopped(node) || state == "STARTING";
    return off ? std::make_optional(Power::kStart) : std::nullopt;
  }
  const bool on =
      state == "READY" || state == "STARTING" || state == "RESTARTING" || state == "STOPPING";
  return on ? std::make_optional(Power::kStop) : std::nullopt;
}

// Whether the workers will not answer, so that what is to run on them waits until they are started.
// `node` is nullptr when it is about to be made.
bool StaysStopped(const PodSpec& pod, const Value* node) {
  if (pod.desired_state) return pod.desired_state == "STOPPED";
  return node != nullptr && IsStopped(*node);
}

// Adds the line `state: READY -> STOPPED` to those of a plan, which are sorted by path. `node` is
// nullptr when there is none yet.
void AddStateChange(const Value* node, const PodSpec& pod,
                    std::vector<AttributeChange>* attributes) {
  AttributeChange change{.path = "state"};
  if (node != nullptr) change.before = Value(NodeState(*node));
  change.after = Value(pod.desired_state.value_or(""));
  const auto place =
      std::find_if(attributes->begin(), attributes->end(),
                   [](const AttributeChange& attribute) { return attribute.path > "state"; });
  attributes->insert(place, std::move(change));
}

class PodPlan final : public KindPlan {
 public:
  PodPlan(const Kind& kind, const PlanningContext& input)
      : kind_(kind), it_(input), survey_(PodsIn(input.observation)) {}

  Verdict Judge(const PlanInput& it) override {
    verdict_ = {};
    again_ = it.again;
    refused_ = false;
    const PodRecord* record = it.record == nullptr ? nullptr : &it.record->As<PodRecord>();
    verdict_.change.address = it.address;
    if (it.mode == PlanMode::kRefreshOnly) {
      PlanRefresh(it.declared, *record);
    } else if (it.declared == nullptr) {
      PlanDelete(*record, &verdict_.change);
    } else {
      PlanPod(WantedPod(*it.declared), record, &verdict_.change);
    }
    return std::move(verdict_);
  }

  std::vector<Change> Rest() override {
    for (const auto& [address, record] : Pods(it_.state)) {
      for (const Object& deposed : record.deposed) {
        Depose(address, deposed.locator, NameOf(record, deposed),
               it_.options.BegunBy() + " replaced it, and " +
                   (it_.options.at_work.empty() ? "was not done" : "is not done yet"));
      }
    }
    return std::move(rest_);
  }

 private:
  Payload Pack(PodChange change) const { return Payload(std::move(change), &kind_); }
  static PodChange& PodOf(Change* change) { return *change->payload.Edit<PodChange>(); }

  void Refuse(const SourcePlace& place, const Address& address, std::string summary,
              std::string detail) {
    verdict_.refusals.push_back({.summary = std::move(summary),
                                 .place = place,
                                 .context = address.Text(),
                                 .detail = std::move(detail)});
  }

  void PlanPod(const PodSpec& given, const PodRecord* record, Change* change) {
    PodSpec settled = given;
    ChooseNode(record, &settled);
    NodeName name = NameOf(settled);
    change->payload = Pack({.wanted = std::move(settled), .node = name});
    // Of the change itself: a replacement that is made first gets a node id of its own at the end.
    const PodSpec& pod = AsPod(*change)->wanted;
    RefuseReferences(pod, change->address);
    if (record == nullptr) {
      PlanNew(pod, change);
    } else {
      PlanKnown(pod, *record, change);
    }
    const bool lives_on = LivesOn(*change);
    const Value* node = lives_on ? survey_.Find(AsPod(*change)->node) : nullptr;
    if (lives_on && (node == nullptr || refused_)) return;
    if (lives_on) {
      Value after = IsKeep(*change) ? *node : NodeAfter(*node, change->attributes);
      verdict_.published = &planned_.emplace_back(PublishedNode(std::move(after), record));
    }
    if (StaysStopped(pod, node)) return;
    verdict_.facts.own = PodFacts{change->payload,
                                  std::move(name),
                                  record,
                                  node,
                                  IsReplace(*change),
                                  FlagsThatChange(change->attributes)};
  }

  // To values that may not stand in a field: others write them.
  void RefuseReferences(const PodSpec& pod, const Address& address) {
    const auto unusable = FindUnusableOf(pod, it_.nodes);
    if (!unusable || unusable->missing) return;
    Refuse(pod.place, address, fmt::format("{} refers to {}", address, unusable->words),
           unusable->hint);
  }

  std::string UnderWay() const {
    return fmt::format("its creation, begun by {}, is under way", it_.options.BegunBy());
  }

  void PlanNew(const PodSpec& pod, Change* change) {
    if (!RefuseTaken(pod, change->address)) PlanCreate(pod, false, change);
  }

  // False: nobody else has its name.
  bool RefuseTaken(const PodSpec& pod, const Address& address) {
    auto taken = BackingOf(pod).WhyTaken(pod, address, survey_, it_.state, it_.options.state_place);
    if (!taken) return false;
    refused_ = true;
    verdict_.refusals.push_back(*std::move(taken));
    return true;
  }

  void PlanCreate(const PodSpec& pod, bool resume, Change* change) {
    change->verb = Verb::kCreate;
    change->begun = resume;
    change->attributes = NewAttributes(pod, it_.nodes);
  }

  void PlanKnown(const PodSpec& pod, const PodRecord& record, Change* change) {
    const bool ours = record.exists() || record.pending().has_value();
    const Value* node = ours ? NodeOf(survey_, it_.state, change->address, record) : nullptr;
    NoteDrift(pod, record, node);
    const bool reported = PlanBacked(
        pod, record, BackingOf(record).Judge(record, node, survey_, it_.state.lineage), change);
    if (reported && node == nullptr && IsAnotherStates(pod, record))
      RefuseTaken(pod, change->address);
    if (!reported && node == nullptr) PlanWithoutNode(pod, record, change);
    if (!reported && node != nullptr) PlanWithNode(pod, record, *node, change);
    // What an earlier run began to make anew is lost still, whatever there is by now.
    if (Makes(*change) && IsRecovering(record)) PodOf(change).lost = record.recovery()->because;
  }

  // What its queued resource is to make would find its name taken.
  bool IsAnotherStates(const PodSpec& pod, const PodRecord& record) const {
    const Value* node = survey_.Find(NameOf(pod));
    return node != nullptr && IsOfAnotherState(*node, record.uid(), it_.state.lineage);
  }

  void PlanWithoutNode(const PodSpec& pod, const PodRecord& record, Change* change) {
    const bool begun = record.pending() && record.pending()->kind == PendingAction::Kind::kCreate;
    if (begun && NameOf(record) == AsPod(*change)->node) {
      const bool heard = !record.pending()->operation.empty();
      change->reason = heard || !it_.options.at_work.empty()
                           ? UnderWay()
                           : "an earlier run ended before it heard whether its creation began";
      return PlanCreate(pod, heard, change);
    }
    ExplainMissing(pod, record, change);
    PlanNew(pod, change);
  }

  // Why there is no node, as the reason of the change that makes one, and whether it was lost.
  static void ExplainMissing(const PodSpec& pod, const PodRecord& record, Change* change) {
    const bool spot = BackingOf(pod).TermsOf(pod).spot;
    if (record.exists() && spot) PodOf(change).lost = "gone";
    change->reason = WhyNoNode(record, spot);
  }

  void PlanWithNode(const PodSpec& pod, const PodRecord& record, const Value& node,
                    Change* change) {
    const std::string state = NodeState(node);
    const PodDiff diff = Diff(pod, record, node);
    if (NameOf(record) != AsPod(*change)->node) {
      PlanMove(pod, record, diff, change);
    } else if (state == "CREATING") {
      change->reason = UnderWay();
      PlanCreate(pod, true, change);
    } else if (IsTerminalState(state) || state == "DELETING") {
      // preventDestroy does not hold here: there is nothing left that it could protect.
      change->reason_code = ReasonCode::kTainted;
      change->reason = state == "DELETING" ? "it is being deleted" : "it is " + state;
      PodOf(change).node_state = state;
      if (state != "DELETING") PodOf(change).lost = state;
      change->attributes = NewAttributes(pod, it_.nodes);
      ChooseReplace(pod, record, change);
    } else {
      PlanExisting(pod, record, diff, node, change);
    }
    NoteDifferences(*change, diff.attributes, &verdict_.facts);
  }

  // A pod of which more than its node is there. False: its node says what is to be done.
  bool PlanBacked(const PodSpec& pod, const PodRecord& record, BackingStatus backing_status,
                  Change* change) {
    if (backing_status.kind == BackingStatus::Kind::kNodeTells) return false;
    PodDiff diff;
    if (backing_status.kind == BackingStatus::Kind::kWaits) {
      if (backing_status.asked != nullptr) diff = Diff(pod, record, *backing_status.asked);
      std::erase_if(diff.attributes, [](const auto& each) { return !each.forces_replacement; });
      change->reason = backing_status.reason;
      PlanCreate(pod, true, change);
      const bool same = !diff.forces_replacement && NameOf(record) == AsPod(*change)->node;
      if (same && !again_) return true;
      backing_status.reason = same ? "it was requested" : "the spec asks for something else by now";
      change->reason_code = same ? ReasonCode::kByRequest : ReasonCode::kCannotUpdate;
    } else {
      change->reason_code = ReasonCode::kTainted;
    }
    // preventDestroy does not hold here: there is nothing (yet, or left) that it could protect.
    change->reason = backing_status.reason;
    PodOf(change).lost = backing_status.lost;
    change->attributes =
        diff.attributes.empty() ? CreateAttributes(pod, it_.nodes) : diff.attributes;
    ChooseReplace(pod, record, change);
    NoteDifferences(*change, diff.attributes, &verdict_.facts);
    return true;
  }

  PodDiff Diff(const PodSpec& pod, const PodRecord& record, const Value& node) const {
    const bool remembered = survey_.remembered.contains(NameOf(record));
    return DiffPod(pod, &record, node, it_.nodes, remembered ? &it_.state.digest_key : nullptr);
  }

  // The node has another place or name than the spec wants.
  void PlanMove(const PodSpec& pod, const PodRecord& record, PodDiff diff, Change* change) {
    const NodeName& node = AsPod(*change)->node;
    if (survey_.Find(node) != nullptr) RefuseTaken(pod, change->address);
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
    const std::string trigger = record.replace_because().empty()
                                    ? FindTrigger(pod.lifecycle, it_.facts)
                                    : record.replace_because();
    if (diff.forces_replacement) {
      ReplaceForDifference(diff, change);
    } else if (again_) {
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
    if (std::string why = BackingOf(record).WhyAlone(); !why.empty()) {
      Refuse(pod.place, change->address, "createBeforeDestroy cannot be kept for this replacement",
             std::move(why));
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
    Depose(change->address, record.current.locator, NameOf(record),
           "its replacement is made first");
  }

  bool IsTaken(const NodeName& name) {
    if (!std::exchange(knows_taken_, true)) {
      for (const Declared* declared : it_.declared) {
        const PodSpec& pod = WantedPod(*declared);
        PodSpec settled;
        settled.node_id = pod.node_id;
        settled.node_id_given = pod.node_id_given;
        ChooseNode(Pods(it_.state).Get(PodAddress(pod.name)), &settled);
        taken_.insert({pod.project, pod.zone, settled.node_id});
      }
      for (const auto& [address, record] : Pods(it_.state)) {
        taken_.insert(NameOf(record));
        for (const Object& deposed : record.deposed) taken_.insert(NameOf(record, deposed));
      }
    }
    return taken_.contains(name) || survey_.Find(name) != nullptr;
  }

  void NoteDrift(const PodSpec& pod, const PodRecord& record, const Value* node) {
    if (!it_.options.refresh && (node == nullptr || survey_.remembered.contains(NameOf(record)))) {
      return;  // nobody looked
    }
    const bool only_news = it_.options.mode == PlanMode::kRefreshOnly;
    const BackingStatus backing_status =
        BackingOf(record).Judge(record, node, survey_, it_.state.lineage);
    verdict_.drift = FindDrift(verdict_.change.address, {pod, record, node, it_.state.digest_key,
                                                         only_news, backing_status});
  }

  void PlanDelete(const PodRecord& record, Change* change) {
    const NodeName node = NameOf(record);
    change->payload = Pack({.wanted = {}, .node = node});
    const bool coming = record.pending() && record.pending()->kind == PendingAction::Kind::kCreate;
    const Value* seen =
        record.exists() || coming ? NodeOf(survey_, it_.state, change->address, record) : nullptr;
    const bool there =
        seen != nullptr || BackingOf(record).Judge(record, seen, survey_, it_.state.lineage).stands;
    if (coming && !there) {
      if (auto kept =
              WhyKept(change->address, record, it_.options.now, it_.options.state_place.flags)) {
        verdict_.planned = false;
        verdict_.refusals.push_back(*std::move(kept));
        return;
      }
    }
    change->verb = there || coming ? Verb::kDelete : Verb::kForget;
    change->attributes = DeleteAttributes(record);
    if (record.prevent_destroy && there) {
      Refuse({}, change->address, fmt::format("{} must not be destroyed", change->address),
             "`lifecycle.preventDestroy` protects it. " +
                 (it_.options.mode == PlanMode::kDestroy
                      ? std::string("Set it to `false` in the spec and apply that first.")
                      : fmt::format("Put the pod back into the spec with `preventDestroy: false` "
                                    "and apply that first. Where it only has another name now: "
                                    "`moved: [{{from: {}, to: pod.NEW}}]`.",
                                    change->address)));
    }
  }

  // The old node goes when the new one works and nobody is built on the old one any more.
  void Depose(const Address& address, const std::string& node_id, const NodeName& node,
              std::string reason) {
    Change change;
    change.address = address;
    change.address.deposed = node_id;
    change.payload = Pack({.wanted = {}, .node = node});
    change.verb = Verb::kDelete;
    change.reason = std::move(reason);
    rest_.push_back(std::move(change));
  }

  void PlanRefresh(const Declared* declared, const PodRecord& record) {
    PodSpec pod = declared == nullptr ? PodSpec{} : WantedPod(*declared);
    ChooseNode(&record, &pod);
    if (record.exists()) {
      NoteDrift(pod, record, NodeOf(survey_, it_.state, verdict_.change.address, record));
    }
    verdict_.planned = declared != nullptr;
    verdict_.change.payload = Pack({.wanted = std::move(pod), .node = NameOf(record)});
  }

  const Kind& kind_;
  const PlanningContext it_;
  const PodSurvey& survey_;
  std::vector<Change> rest_;
  std::list<Value> planned_;  // nodes as this plan will have changed them, for references
  std::set<NodeName> taken_;  // filled when first asked
  bool knows_taken_ = false;
  // Of the pod that is being judged.
  Verdict verdict_;
  bool again_ = false;
  bool refused_ = false;  // its node is somebody else's
};

}  // namespace

std::unique_ptr<KindPlan> BeginPodPlan(const Kind& kind, const PlanningContext& input) {
  return std::make_unique<PodPlan>(kind, input);
}

void ChooseFreeNodeId(const std::function<bool(const NodeName&)>& taken, PodSpec* pod) {
  constexpr std::size_t kLongest = 63;  // of a Compute Engine name, which workers get from it
  const std::string wanted = pod->wanted_node_id.empty() ? pod->node_id : pod->wanted_node_id;
  std::string id = wanted;
  // Ends: only so many names are taken.
  for (int i = 2; taken({pod->project, pod->zone, id}); ++i) {
    const std::string suffix = fmt::format("-{}", i);
    id = wanted.substr(0, kLongest - suffix.size()) + suffix;
  }
  pod->node_id = id;
  pod->wanted_node_id = id == wanted ? "" : wanted;
}

std::vector<AttributeChange> NewAttributes(const PodSpec& pod, const ReferenceLookup& lookup) {
  std::vector<AttributeChange> attributes = CreateAttributes(pod, lookup);
  if (pod.desired_state == "STOPPED") AddStateChange(nullptr, pod, &attributes);
  return attributes;
}

}  // namespace podctl
