// Declared in plans/kinds/kinds.h.
#include <fmt/format.h>

#include <algorithm>

#include "plans/engine/plan_file/secrets.h"
#include "plans/kinds/kinds.h"
#include "plans/kinds/moves.h"
#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/drift.h"
#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/members.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/plan.h"
#include "plans/kinds/pod/preconditions.h"
#include "plans/kinds/pod/reader/node_fields.h"
#include "plans/kinds/pod/reader/pod_reader.h"
#include "plans/kinds/pod/reader/pod_shape.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/settle.h"
#include "plans/kinds/pod/shown.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/tasks.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/runtime_flags.h"
#include "state/state_json.h"
#include "state/transitions.h"

namespace podctl {
namespace {

// What provides the objects that go, which need not be what the spec wants.
const Backing& Going(const Change& change, TaskContext& context) {
  const PodRecord* record = PodJournal(context).Find(change.address.WithoutDeposed());
  return record == nullptr ? BackingOf(AsPod(change)->wanted) : BackingOf(*record);
}

std::unique_ptr<Task> MakePodTask(const Change& change, TaskContext& context) {
  const PodChange& pod = *AsPod(change);
  const PodSpec& wanted = pod.wanted;
  std::vector<std::unique_ptr<Task>> tasks;
  switch (change.verb) {
    case Verb::kKeep:
    case Verb::kRun:
      return nullptr;
    case Verb::kDelete:
    case Verb::kForget:
      return Going(change, context).Delete(change.address, change.verb == Verb::kForget, context);
    case Verb::kUpdate:
      // A stopped node takes no updates.
      if (pod.power == Power::kStart) tasks.push_back(MakePowerTask(wanted, *pod.power, context));
      tasks.push_back(MakePatchTask(wanted, pod.fields, context));
      if (pod.power == Power::kStop) tasks.push_back(MakePowerTask(wanted, *pod.power, context));
      return MakeSequence(std::move(tasks));
    case Verb::kDeleteThenCreate:
      // Each half is journaled by itself: a run that ends between them leaves a state from which
      // the next plan simply creates.
      tasks.push_back(Going(change, context).Delete(change.address, false, context));
      [[fallthrough]];
    case Verb::kCreate:
      tasks.push_back(BackingOf(wanted).Create(
          wanted, change.begun ? CreateKind::kResume : CreateKind::kNew, context));
      break;
    case Verb::kCreateThenDelete:
      // The old node is deleted by a change of its own, once nobody is built on it any more.
      tasks.push_back(BackingOf(wanted).Create(wanted, CreateKind::kBeforeDelete, context));
      break;
  }
  // A node comes to life started.
  if (wanted.desired_state == "STOPPED") {
    tasks.push_back(MakePowerTask(wanted, Power::kStop, context));
  }
  return MakeSequence(std::move(tasks));
}

bool RuntimeIsSensitive(const PodSpec& pod) {
  const auto entry = pod.metadata.find(kRuntimeVariablesKey);
  return entry != pod.metadata.end() && entry->second.sensitive;
}

void VisitPod(PodSpec& pod, const SecretVisitor& visit) {
  const Address address = PodAddress(pod.name);
  for (auto& [key, entry] : pod.metadata) {
    if (entry.sensitive) visit(fmt::format("metadata.{} of {}", key, address), entry.text);
  }
  if (RuntimeIsSensitive(pod)) {
    for (auto& [name, text] : pod.runtime_env) {
      visit(fmt::format("runtimeEnv.{} of {}", name, address), text);
    }
  }
  for (StepSpec& step : pod.bootstrap) {
    if (!step.sensitive) continue;
    const Address of = StepAddress(pod.name, step.name);
    visit(fmt::format("the script of {}", of), step.run);
    for (auto& [name, text] : step.env) visit(fmt::format("env.{} of {}", name, of), text);
  }
}

// One that VisitPod would not put its value back for.
bool HoldsBareDigest(const PodSpec& pod) {
  const auto is_bare = [](const auto& entry) {
    return !entry.second.sensitive && IsSecretDigest(entry.second.text);
  };
  const auto is_digest = [](const auto& variable) { return IsSecretDigest(variable.second); };
  return std::any_of(pod.metadata.begin(), pod.metadata.end(), is_bare) ||
         (!RuntimeIsSensitive(pod) &&
          std::any_of(pod.runtime_env.begin(), pod.runtime_env.end(), is_digest));
}

const Value* NothingIsKnown(const Address& /*of*/) {
  return nullptr;
}

// What its plan leads the state to say, in each zone that may become its own; empty: such a state
// can be read again.
std::string WhyNotRemembered(const PodSpec& pod) {
  PodRecord record;
  record.project = pod.project;
  record.zone = pod.zone;
  record.wanted_node_id = pod.wanted_node_id;
  TakeBookkeeping(pod, NothingIsKnown, &record);
  const std::string through = BackingOf(pod).NoteAsked(pod, &record);
  BeginCreate(pod.node_id, through, {}, &record);
  std::vector<std::string> zones = {pod.zone};
  if (pod.capacity)
    zones.insert(zones.end(), pod.capacity->zones.begin(), pod.capacity->zones.end());
  for (const std::string& zone : zones) {
    record.zone = zone;
    std::string why = WhyUnreadable(record, PodAddress(pod.name));
    if (!why.empty()) return why;
  }
  return {};
}

// Numbers that a state refuses, by their place in the plan.
std::string WhatIsOutOfRange(const PodSpec& pod) {
  constexpr int kMostPort = 65535;
  if (pod.ssh.port < 1 || pod.ssh.port > kMostPort) return "ssh.port";
  const int slices = BackingOf(pod).SlicesOf(pod);
  return slices >= 1 && slices <= kMostQueuedSlices ? "" : "queued.slices";
}

class PodKind final : public plan_file::KindOf<PodChange> {
 public:
  const RecordCodec& codec() const override { return PodRecord::Codec(); }

  std::string_view section() const override { return "pods"; }
  Key SectionKey() const override {
    return {std::string(section()), "Pods by name; the address of `research` is `pod.research`.",
            shape::MapOf(kThingNamePattern, PodShape())};
  }
  Declared Read(const YamlEntry& entry, const Section& section) const override {
    PodSpec pod = PodReader(section).Read(*entry.key, *entry.value);
    return {PodAddress(pod.name), pod.place, Payload(std::move(pod), this)};
  }
  bool takes_defaults() const override { return true; }
  void CheckDefaults(const YamlNode& defaults, const Section& section) const override {
    PodReader(section).CheckDefaults(defaults);
  }
  bool HasKey(const std::string& key) const override {
    const std::vector<std::string> fields = WritableMembers("");
    return std::find(fields.begin(), fields.end(), key) != fields.end();
  }
  bool moves() const override { return true; }

  std::vector<std::string> published() const override { return PublishedMembers(); }
  std::optional<ReferenceProblem> CheckReference(const FoundReference& reference,
                                                 const Declared& to) const override {
    return CheckPodReference(reference, WantedPod(to));
  }
  void Resolved(Declared* declared) const override {
    if (declared->builds_on.empty()) return;
    declared->wanted.Edit<PodSpec>()->depends_on = declared->builds_on;
  }
  std::optional<JobHost> HostOf(const Declared& declared) const override {
    const PodSpec& pod = WantedPod(declared);
    return JobHost{pod.node, BackingOf(pod).SlicesOf(pod)};
  }
  std::vector<Diagnostic> Conflicts(const std::vector<const Declared*>& all) const override {
    return PodsOfOneNode(all);
  }
  std::vector<Address> BuiltOn(const AnyRecord& record) const override {
    return record.As<PodRecord>().depends_on;
  }

  Result<void> Move(const Address& from, const Address& to, State* state) const override {
    return MoveAddress(*state, from, to);
  }

  std::unique_ptr<KindPlan> Begin(const PlanningContext& input) const override {
    return BeginPodPlan(*this, input);
  }

  KindSurveys Survey(const SurveyInput& input) const override { return SurveyPods(input); }
  void SettleAll(const Observation& observation, State* state,
                 std::vector<std::string>* notes) const override {
    SettlePods(PodsIn(observation), state, notes);
  }

  Payload ReadPayload(const Value& value, const std::string& way,
                      std::string* problem) const override {
    Payload payload = KindOf::ReadPayload(value, way, problem);
    const std::string wrong = WhatIsOutOfRange(payload.As<PodChange>()->wanted);
    if (problem->empty() && !wrong.empty()) {
      *problem = fmt::format("`{}.wanted.{}` is out of range", way, wrong);
    }
    return payload;
  }
  // The headline names one pod and node, and the payload may hold another.
  std::string WhatCannotBe(const Change& change) const override {
    if (change.verb == Verb::kRun) return "cannot be changed so";
    const auto& [wanted, node, fields, power, lost, node_state] = *AsPod(change);
    bool same = false;
    if (IsDelete(change)) {
      same = change.address.deposed.empty() || change.address.deposed == node.node;
    } else {
      same = change.address == PodAddress(wanted.name) &&
             (IsKeep(change) || node == NodeName{wanted.project, wanted.zone, wanted.node_id});
    }
    if (!same) return "is the name of something else in it";
    if (HoldsBareDigest(wanted)) return kDigestInTheClear;
    const std::string why = IsDelete(change) ? "" : WhyNotRemembered(wanted);
    return why.empty() ? "" : "could not be remembered: " + why;
  }
  std::vector<AttributeChange> ShownOf(const Change& change,
                                       const ReferenceLookup& nodes) const override {
    return NewAttributes(AsPod(change)->wanted, nodes);
  }
  void VisitSecrets(const Address& /*address*/, Payload* payload,
                    const SecretVisitor& visit) const override {
    if (auto* change = payload->Edit<PodChange>()) return VisitPod(change->wanted, visit);
    PodSpec& declared = *payload->Edit<PodSpec>();
    VisitPod(declared, visit);
    if (!RuntimeIsSensitive(declared)) return;
    // The restart that podctl makes itself checks the whole entry.
    visit(fmt::format("env.{} of {}", kRuntimeVariablesKey,
                      StepAddress(declared.name, kRuntimeStepName)),
          declared.metadata[kRuntimeVariablesKey].text);
  }

  std::vector<Precondition> Preconditions(const PreconditionInput& input) const override {
    return PreconditionsOfPods(input);
  }
  std::string ViolationOf(const Precondition& precondition, const Observation& observation,
                          const Digester& digest) const override {
    return ViolationOfPod(precondition, observation, digest);
  }
  std::string WhatLacksPrecondition(const Plan& plan,
                                    const std::vector<Precondition>& preconditions) const override {
    return PodWithoutPrecondition(plan, preconditions);
  }
  std::vector<Particular> ParticularsOf(const Change& change,
                                        const AnyRecord* prior) const override {
    return ParticularsOfPod(change, prior);
  }
  std::map<Address, Value> PublishedThen(
      const Plan& plan, const std::vector<Precondition>& preconditions) const override {
    return NodesThen(plan, preconditions);
  }

  Value PublishedBefore(const Change& change, const AnyRecord* record,
                        const Observation& observation) const override {
    const Value* node = PodsIn(observation).Find(AsPod(change)->node);
    if (node == nullptr) return {};
    return PublishedNode(*node, record == nullptr ? nullptr : &record->As<PodRecord>());
  }
  void Accept(const Drift& drift, const Observation& /*observation*/, State* state) const override {
    AcceptDrift(drift, state);
  }

  void Note(const Change& change, TaskContext& context) const override {
    const PodChange& pod = *AsPod(change);
    PodJournal journal(context);
    if (IsKeep(change)) return journal.NotePod(pod.wanted);
    PodRecord* record = journal.Known(change.address.WithoutDeposed());
    if (record == nullptr) return;
    // So that a run that ends in the middle does not lose why.
    if (change.reason_code == ReasonCode::kByTriggers) WantReplacement(change.reason, record);
    // From now on the record stays, node or no node, until it is recovered: another run goes on.
    if (!pod.lost.empty()) BeginRecovery(pod.lost, journal.Now(), record);
    if (IsDelete(change) && change.address.deposed.empty()) Leave(record);
  }

  std::unique_ptr<Task> MakeTask(const Change& change, TaskContext& context) const override {
    return MakePodTask(change, context);
  }
  bool Conclude(const Address& whole, TaskContext& context) const override {
    PodJournal journal(context);
    const PodRecord* record = journal.Find(whole);
    const bool lives = record != nullptr && record->exists() && !record->pending();
    if (!lives || !IsRecovering(*record)) return false;
    EndRecovery(journal.Now(), journal.Known(whole));
    return true;
  }

  ChangeWords WordsOf(const Change& change) const override { return WordsOfPod(change); }
  std::string Summary(const Plan& plan) const override { return MoveHint(plan); }
  ShownSides SidesOf(const Change& change, const State& state) const override {
    return SidesOfPod(change, state);
  }
  std::vector<Configured> ConfiguredOf(const Change& change) const override {
    return ConfiguredPod(change);
  }
  std::string NoteAtStart(const Change& change, const State& state) const override {
    if (AsPod(change)->lost.empty()) return {};
    const PodRecord* record = Pods(state).Get(change.address);
    if (record == nullptr || !record->recovery()) return {};
    return fmt::format("was {}: it is made anew", RecoveryStory(*record->recovery()));
  }
};

}  // namespace

std::unique_ptr<const Kind> MakePodKind() {
  return std::make_unique<PodKind>();
}

}  // namespace podctl
