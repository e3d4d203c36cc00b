#include "plans/engine/journal.h"

#include <algorithm>
#include <utility>

#include "plans/engine/planner.h"
#include "plans/kinds/pod/bookkeeping.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/drift.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/step/record.h"
#include "state/transitions.h"

namespace podctl {
namespace {

// What podctl owned of an ignored field it still owns; nothing is added.
void KeepIgnored(const PodSpec& pod, const Value& before, Value* applied) {
  for (const std::string& path : pod.lifecycle.ignore_changes) {
    if (const Value* old = before.FindPath(path)) {
      applied->SetPath(path, *old);
    } else {
      applied->ErasePath(path);
    }
  }
}

}  // namespace

Journal::Journal(State& state, StateStore& store, Generation& generation, Clock& clock,
                 Random& random, ReferenceLookup lookup)
    : state_(state),
      store_(store),
      generation_(generation),
      clock_(clock),
      lookup_(std::move(lookup)) {
  if (state_.lineage.empty()) state_.lineage = random.Uuid();
  if (state_.digest_key.empty()) state_.digest_key = NewDigestKey(random);
}

void Journal::CopyBookkeeping(const PodSpec& pod, PodRecord* record) const {
  record->wanted_node_id = pod.wanted_node_id;
  TakeBookkeeping(pod, lookup_, record);
}

const PodRecord* Journal::Find(const Address& address) const {
  return Pods(state_).Get(address);
}

PodRecord& Journal::At(const Address& address) {
  dirty_ = true;
  return Pods(state_)[address];
}

void Journal::NotePod(const PodSpec& pod) {
  const Address address = PodAddress(pod.name);
  if (Find(address) == nullptr) return;
  PodRecord& record = At(address);
  Stay(&record);
  CopyBookkeeping(pod, &record);
  Own(pod, &record);
  if (const Value* node = lookup_(address)) RememberKeys(pod, (*node)["metadata"], &record);
  ForgetOldSteps(pod);
}

void Journal::ForgetOldSteps(const PodSpec& pod) {
  const Address address = PodAddress(pod.name);
  Steps(state_).EraseIf([&](const Address& step, const StepRecord& record) {
    if (record.pod != address || step == StepAddress(pod.name, kRuntimeStepName)) return false;
    if (step == StepAddress(pod.name, kReadinessStepName)) return !pod.check_ready;
    return std::none_of(pod.bootstrap.begin(), pod.bootstrap.end(), [&](const StepSpec& spec) {
      return StepAddress(pod.name, spec.name) == step;
    });
  });
}

Intent Journal::Begun(const std::string& request_id) const {
  return {"", FormatTimestamp(clock_.Now()), state_.serial, request_id};
}

void Journal::AcceptDrift(const std::vector<Drift>& drift, const Observation& observation) {
  dirty_ = true;
  state_ = podctl::AcceptDrift(std::move(state_), drift);
  for (const Drift& each : drift) {
    const auto record = state_.records.find(each.address);
    const Value* seen = observation.Seen(each.address);
    if (record == state_.records.end() || seen == nullptr) continue;
    const RecordCodec& codec = record->second.codec();
    if (!codec.Accept(*seen, state_.digest_key, &record->second)) state_.records.erase(record);
  }
}

void Journal::NoteReplacement(const Address& address, const std::string& reason) {
  if (Find(address) != nullptr) WantReplacement(reason, &At(address));
}

void Journal::NoteLoss(const Address& address, const std::string& lost) {
  if (Find(address) == nullptr) return;
  BeginRecovery(lost, FormatTimestamp(clock_.Now()), &At(address));
}

void Journal::RecoveryOver(const Address& address) {
  EndRecovery(FormatTimestamp(clock_.Now()), &At(address));
}

std::string Journal::SeekCapacity(const PodSpec& pod) {
  PodRecord& record = At(PodAddress(pod.name));
  if (!record.exists() && !record.pending() && record.deposed.empty()) {
    record.project = pod.project;
    record.zone = pod.zone;
    record.current.locator = pod.node_id;
    CopyBookkeeping(pod, &record);
  }
  Seek(FormatTimestamp(clock_.Now()), &record);
  return record.capacity_since();
}

void Journal::GiveUpCapacity(const Address& address) {
  if (Find(address) == nullptr) return;
  PodRecord& record = At(address);
  StopSeeking(&record);
  if (!record.exists() && !record.pending()) PodGone(address);
}

void Journal::SeekNothing(const Address& address) {
  if (Find(address) != nullptr) Leave(&At(address));
}

void Journal::BeginCreate(const PodSpec& pod, const std::string& request_id) {
  PodRecord& record = At(PodAddress(pod.name));
  // While an older node waits to be deleted, or to be taken back, what was written to it is kept.
  if (record.deposed.empty()) {
    PodRecord fresh;
    static_cast<Record&>(fresh) = std::move(record);
    record = std::move(fresh);
  }
  record.project = pod.project;
  record.zone = pod.zone;
  CopyBookkeeping(pod, &record);
  record.queued = RecordOf(pod);
  podctl::BeginCreate(pod.node_id, record.queued ? record.queued->id : "", Begun(request_id),
                      &record);
}

void Journal::BeginCreateBeforeDelete(const PodSpec& pod, const std::string& request_id) {
  Depose(&At(PodAddress(pod.name)));
  BeginCreate(pod, request_id);
}

void Journal::BeginPatch(const Address& address) {
  BeginChange(Begun(), &At(address));
}

void Journal::BeginDelete(const Address& address, const std::string& deposed,
                          const std::string& request_id) {
  if (Find(address) != nullptr) podctl::BeginDelete(deposed, Begun(request_id), &At(address));
}

void Journal::QueuedSeen(const Address& address, const std::string& state) {
  const PodRecord* record = Find(address);
  if (record != nullptr && record->queued && record->queued->state != state) {
    At(address).queued->state = state;
  }
}

void Journal::QueuedOver(const Address& address) {
  if (Find(address) != nullptr) EndRequest({}, &At(address));
}

void Journal::OperationStarted(const Address& address, const std::string& operation,
                               const std::string& deposed) {
  if (Find(address) != nullptr) NoteOperation(deposed, operation, &At(address));
}

void Journal::Withdraw(const Address& address, const std::string& deposed) {
  if (Find(address) == nullptr) return;
  PodRecord& record = At(address);
  podctl::Withdraw(deposed, &record);
  SettleWantedId(&record);
  const bool gone = deposed.empty() && !record.exists() && record.auxiliary.empty();
  if (gone) PodGone(address);
}

void Journal::Remember(const MetadataEntry& entry, const std::string& key, const std::string& value,
                       PodRecord* record) {
  record->metadata[key] = RememberedValue(value, entry.sensitive, state_.digest_key);
  if (entry.sensitive) record->sensitive_keys.push_back(key);
}

// The spec's own fields and metadata keys become podctl's; what the spec ignores stays as it was.
void Journal::Own(const PodSpec& pod, PodRecord* record) {
  std::vector<std::string> unknown;
  Value applied = RenderValue(pod.node, lookup_, &unknown);
  if (!unknown.empty()) return;  // nothing that is known has changed
  KeepIgnored(pod, record->applied, &applied);
  record->applied = std::move(applied);
  const PodRecord before = *record;
  record->metadata.clear();
  record->sensitive_keys.clear();
  for (const auto& [key, value] : before.metadata) {
    if (!IsIgnored(pod, "metadata." + key)) continue;
    record->metadata[key] = value;
    if (std::count(before.sensitive_keys.begin(), before.sensitive_keys.end(), key) > 0) {
      record->sensitive_keys.push_back(key);
    }
  }
  for (const auto& [key, entry] : pod.metadata) {
    if (IsIgnored(pod, "metadata." + key)) continue;
    if (const auto text = RenderText(entry.text, lookup_)) Remember(entry, key, *text, record);
  }
}

void Journal::NodeFound(const Address& address, const Value& node) {
  TakeObserved(node, &At(address));
}

void Journal::PodCreated(const PodSpec& pod, const Value& sent, const Value& node) {
  PodRecord& record = At(PodAddress(pod.name));
  TakeObserved(node, &record);
  // What is remembered of the runtime is of the node before this one, if of any.
  Steps(state_).erase(StepAddress(pod.name, kRuntimeStepName));
  CopyBookkeeping(pod, &record);
  Finish(&record);
  NoteReplaced(&record);
  StopSeeking(&record);
  record.applied = sent;
  record.applied.Erase("metadata");
  record.metadata.clear();
  record.sensitive_keys.clear();
  for (const auto& [key, entry] : pod.metadata) {
    Remember(entry, key, sent["metadata"][key].AsString(), &record);
  }
  record.team_keys.clear();
  record.own_keys.clear();
  RememberKeys(pod, node["metadata"], &record);
}

void Journal::PodPatched(const PodSpec& pod, const Value& node) {
  PodRecord& record = At(PodAddress(pod.name));
  TakeObserved(node, &record);
  CopyBookkeeping(pod, &record);
  EndRequest({}, &record);
  Own(pod, &record);
  RememberKeys(pod, node["metadata"], &record);
  ForgetOldSteps(pod);
}

void Journal::PodGone(const Address& address, const std::string& deposed) {
  dirty_ = true;
  if (deposed.empty()) {
    ForgetNode(address, &state_);
  } else {
    ForgetDeposed(address, deposed, &state_);
  }
}

void Journal::ReadinessWanted(const std::string& pod) {
  const Address address = PodAddress(pod);
  if (Find(address) == nullptr) return;
  dirty_ = true;
  Steps(state_)[StepAddress(pod, kReadinessStepName)] = StepRecord{address, {}};
}

void Journal::ReadinessProved(const std::string& pod) {
  dirty_ = true;
  Steps(state_).erase(StepAddress(pod, kReadinessStepName));
}

void Journal::HostKeys(const Address& address, const std::map<int, std::vector<HostKeyText>>& keys,
                       const std::string& source) {
  if (keys.empty() || Find(address) == nullptr) return;
  PodRecord& record = At(address);
  for (const auto& [worker, known] : keys) record.host_keys[worker] = known;
  record.host_keys_source = source;
}

void Journal::VmNames(const Address& address, const std::map<int, std::string>& names) {
  if (names.empty() || Find(address) == nullptr || !Find(address)->ssh.iap) return;
  dirty_ = true;
  PodRecord& record = At(address);
  for (const auto& [worker, name] : names) record.vm_names[worker] = name;
}

void Journal::StepApplied(const Address& step, const Address& pod, int worker,
                          const std::string& digest) {
  if (Find(pod) == nullptr) return;
  dirty_ = true;
  StepRecord& record = Steps(state_)[step];
  record.pod = pod;
  record.workers[worker] = {digest, At(pod).uid(), FormatTimestamp(clock_.Now())};
}

void Journal::StepRunsAgain(const Address& step, const Address& pod, int worker,
                            const std::string& digest) {
  const StepRecord* record = Steps(std::as_const(state_)).Get(step);
  if (record == nullptr || Find(pod) == nullptr) return;
  const auto applied = record->workers.find(worker);
  const bool through = applied != record->workers.end() && applied->second.uid == At(pod).uid() &&
                       applied->second.digest.ends_with(digest);
  if (!through) return;
  dirty_ = true;
  Steps(state_)[step].workers.erase(worker);
}

void Journal::Put(const Address& address, AnyRecord record) {
  dirty_ = true;
  state_.records.insert_or_assign(address, std::move(record));
}

void Journal::Forget(const Address& address) {
  if (state_.records.erase(address) > 0) dirty_ = true;
}

Result<void> Journal::Flush() {
  if (!dirty_) return {};
  if (!saved_) {
    if (auto saved = store_.Save(state_, &generation_); !saved) return saved;
    saved_ = state_;
  } else {
    const std::vector<RecordChange> changes = ChangesBetween(*saved_, state_);
    if (auto saved = store_.Append(state_, changes, &generation_); !saved) return saved;
    Apply(changes, &*saved_);
  }
  dirty_ = false;
  return {};
}

}  // namespace podctl
