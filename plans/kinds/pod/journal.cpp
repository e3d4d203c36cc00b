#include "plans/kinds/pod/journal.h"

#include <algorithm>
#include <utility>

#include "plans/engine/plan_file/secrets.h"
#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/route.h"
#include "plans/kinds/pod/settle.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/runtime_flags.h"
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

// Of a metadata key that `before` has.
void KeepRemembered(const PodRecord& before, const std::string& key, PodRecord* record) {
  record->metadata[key] = before.metadata.at(key);
  if (IsSensitive(before, key)) record->sensitive_keys.push_back(key);
  const auto secret = before.secrets.find(key);
  if (secret != before.secrets.end()) record->secrets.insert(*secret);
}

}  // namespace

std::string PodJournal::Now() const {
  return FormatTimestamp(context_.clock.Now());
}

void PodJournal::CopyBookkeeping(const PodSpec& pod, PodRecord* record) const {
  record->wanted_node_id = pod.wanted_node_id;
  TakeBookkeeping(pod, context_.Lookup(), record);
}

const PodRecord* PodJournal::Find(const Address& address) const {
  return context_.journal.Get<PodRecord>(address);
}

PodRecord* PodJournal::Known(const Address& address) {
  return Find(address) == nullptr ? nullptr : &At(address);
}

PodRecord& PodJournal::At(const Address& address) {
  return Pods(Edit())[address];
}

void PodJournal::NotePod(const PodSpec& pod) {
  const Address address = PodAddress(pod.name);
  if (Find(address) == nullptr) return;
  PodRecord& record = At(address);
  Stay(&record);
  CopyBookkeeping(pod, &record);
  Own(pod, &record);
  if (const Value* node = context_.Lookup()(address))
    RememberKeys(pod, (*node)["metadata"], &record);
  ForgetOldSteps(pod);
}

void PodJournal::ForgetOldSteps(const PodSpec& pod) {
  const Address address = PodAddress(pod.name);
  Steps(Edit()).EraseIf([&](const Address& step, const StepRecord& record) {
    if (record.pod != address || step == StepAddress(pod.name, kRuntimeStepName)) return false;
    if (step == StepAddress(pod.name, kReadinessStepName)) return !pod.check_ready;
    return std::none_of(pod.bootstrap.begin(), pod.bootstrap.end(), [&](const StepSpec& spec) {
      return StepAddress(pod.name, spec.name) == step;
    });
  });
}

std::string PodJournal::SeekCapacity(const PodSpec& pod) {
  PodRecord& record = At(PodAddress(pod.name));
  if (!record.exists() && !record.pending() && record.deposed.empty()) {
    record.project = pod.project;
    record.zone = pod.zone;
    record.current.locator = pod.node_id;
    CopyBookkeeping(pod, &record);
  }
  Seek(Now(), &record);
  return record.capacity_since();
}

void PodJournal::GiveUpCapacity(const Address& address) {
  PodRecord* record = Known(address);
  if (record == nullptr) return;
  StopSeeking(record);
  if (!record->exists() && !record->pending()) PodGone(address);
}

void PodJournal::BeginCreate(const PodSpec& pod, const std::string& request_id) {
  PodRecord& record = At(PodAddress(pod.name));
  // While an older node waits to be deleted, or to be taken back, what was written to it is kept.
  if (record.deposed.empty()) {
    PodRecord fresh;
    static_cast<Record&>(fresh) = std::move(record);
    fresh.jobs = std::move(record.jobs);
    record = std::move(fresh);
  }
  record.project = pod.project;
  record.zone = pod.zone;
  CopyBookkeeping(pod, &record);
  BackingOf(record).Forget(&record);
  const std::string through = BackingOf(pod).NoteAsked(pod, &record);
  podctl::BeginCreate(pod.node_id, through, context_.journal.Begun(request_id), &record);
}

void PodJournal::BeginCreateBeforeDelete(const PodSpec& pod, const std::string& request_id) {
  Depose(&At(PodAddress(pod.name)));
  BeginCreate(pod, request_id);
}

void PodJournal::BeginPatch(const Address& address) {
  BeginChange(context_.journal.Begun(), &At(address));
}

void PodJournal::BeginDelete(const Address& address, const std::string& deposed,
                             const std::string& request_id) {
  PodRecord* record = Known(address);
  if (record != nullptr) podctl::BeginDelete(deposed, context_.journal.Begun(request_id), record);
}

void PodJournal::RequestOver(const Address& address) {
  if (Find(address) != nullptr) EndRequest({}, &At(address));
}

void PodJournal::OperationStarted(const Address& address, const std::string& operation,
                                  const std::string& deposed) {
  if (Find(address) != nullptr) NoteOperation(deposed, operation, &At(address));
}

void PodJournal::Withdraw(const Address& address, const std::string& deposed) {
  if (Find(address) == nullptr) return;
  PodRecord& record = At(address);
  podctl::Withdraw(deposed, &record);
  if (record.auxiliary.empty()) BackingOf(record).Forget(&record);
  SettleWantedId(&record);
  const bool gone = deposed.empty() && !record.exists() && record.auxiliary.empty();
  if (gone) PodGone(address);
}

void PodJournal::Remember(const MetadataEntry& entry, const std::string& key,
                          const std::string& value, PodRecord* record) const {
  record->metadata[key] =
      RememberedValue(value, entry.sensitive, context_.journal.state().digest_key);
  if (entry.sensitive) record->sensitive_keys.push_back(key);
  if (entry.secret) record->secrets[key] = *entry.secret;
}

// The spec's own fields and metadata keys become podctl's; what the spec ignores stays as it was.
void PodJournal::Own(const PodSpec& pod, PodRecord* record) const {
  std::vector<std::string> unknown;
  Value applied = RenderValue(pod.node, context_.Lookup(), &unknown);
  if (!unknown.empty()) return;  // nothing that is known has changed
  KeepIgnored(pod, record->applied, &applied);
  record->applied = std::move(applied);
  const PodRecord before = *record;
  record->metadata.clear();
  record->sensitive_keys.clear();
  record->secrets.clear();
  for (const auto& [key, value] : before.metadata) {
    if (IsIgnored(pod, "metadata." + key)) KeepRemembered(before, key, record);
  }
  for (const auto& [key, entry] : pod.metadata) {
    if (IsIgnored(pod, "metadata." + key)) continue;
    const auto text = RenderMetadata(key, entry.text, context_.Lookup());
    if (!text) continue;
    // A saved plan names what it keeps as it is by a digest: its value is not given again.
    if (entry.sensitive && IsSecretDigest(*text)) {
      if (before.metadata.contains(key)) KeepRemembered(before, key, record);
    } else {
      Remember(entry, key, *text, record);
    }
  }
}

void PodJournal::NodeFound(const Address& address, const Value& node) {
  TakeObserved(node, &At(address));
}

void PodJournal::PodCreated(const PodSpec& pod, const Value& sent, const Value& node) {
  PodRecord& record = At(PodAddress(pod.name));
  TakeObserved(node, &record);
  // What is remembered of the runtime is of the node before this one, if of any.
  Steps(Edit()).erase(StepAddress(pod.name, kRuntimeStepName));
  CopyBookkeeping(pod, &record);
  Finish(&record);
  NoteReplaced(&record);
  StopSeeking(&record);
  record.applied = sent;
  record.applied.Erase("metadata");
  record.metadata.clear();
  record.sensitive_keys.clear();
  record.secrets.clear();
  for (const auto& [key, entry] : pod.metadata) {
    Remember(entry, key, sent["metadata"][key].AsString(), &record);
  }
  record.team_keys.clear();
  record.own_keys.clear();
  RememberKeys(pod, node["metadata"], &record);
}

void PodJournal::PodPatched(const PodSpec& pod, const Value& node) {
  PodRecord& record = At(PodAddress(pod.name));
  TakeObserved(node, &record);
  CopyBookkeeping(pod, &record);
  EndRequest({}, &record);
  Own(pod, &record);
  RememberKeys(pod, node["metadata"], &record);
  ForgetOldSteps(pod);
}

void PodJournal::PodGone(const Address& address, const std::string& deposed) {
  if (deposed.empty()) {
    ForgetNode(address, &Edit());
  } else {
    ForgetDeposed(address, deposed, &Edit());
  }
}

void PodJournal::ReadinessWanted(const std::string& pod) {
  const Address address = PodAddress(pod);
  if (Find(address) == nullptr) return;
  Steps(Edit())[StepAddress(pod, kReadinessStepName)] = StepRecord{address, {}};
}

void PodJournal::ReadinessProved(const std::string& pod) {
  Steps(Edit()).erase(StepAddress(pod, kReadinessStepName));
}

void PodJournal::Publish(const Address& address, const Value& node) {
  context_.published[address] = PublishedNode(node, Find(address));
}

void PodJournal::HostKeys(const Address& address,
                          const std::map<int, std::vector<HostKeyText>>& keys,
                          const std::string& source) {
  if (keys.empty() || Find(address) == nullptr) return;
  PodRecord& record = At(address);
  for (const auto& [worker, known] : keys) record.host_keys[worker] = known;
  record.host_keys_source = source;
  const auto published = context_.published.find(address);
  if (published != context_.published.end()) Publish(address, Value(published->second));
}

void PodJournal::NoteWorkers(const Address& address, const std::vector<WorkerAttributes>& workers) {
  HostKeys(address, HostKeysOf(workers), "guestAttributes");
  const auto names = VmNamesOf(workers);
  if (names.empty() || Find(address) == nullptr || !Find(address)->ssh.iap) return;
  for (const auto& [worker, name] : names) At(address).vm_names[worker] = name;
}

void PodJournal::StepApplied(const Address& step, const Address& pod, int worker,
                             const std::string& digest) {
  if (Find(pod) == nullptr) return;
  StepRecord& record = Steps(Edit())[step];
  record.pod = pod;
  record.workers[worker] = {digest, At(pod).uid(), Now()};
}

void PodJournal::StepBegins(const Address& step, const Address& pod, int worker) {
  const StepRecord* record = context_.journal.Get<StepRecord>(step);
  const PodRecord* of = Find(pod);
  if (record == nullptr || of == nullptr) return;
  const auto applied = record->workers.find(worker);
  if (applied == record->workers.end() || applied->second.uid != of->uid()) return;
  Steps(Edit())[step].workers.erase(worker);
}

void TakeBookkeeping(const PodSpec& pod, const ReferenceLookup& lookup, PodRecord* record) {
  record->api_version = pod.api_version.value_or(ApiVersion::kV2);
  record->ssh = pod.ssh;
  record->depends_on = pod.depends_on;
  record->prevent_destroy = pod.lifecycle.prevent_destroy;
  record->exec_env.clear();
  // A sensitive value is never stored, so `exec` has to do without it.
  const auto entry = pod.metadata.find(kRuntimeVariablesKey);
  if (entry != pod.metadata.end() && entry->second.sensitive) return;
  for (const auto& [name, text] : pod.runtime_env) {
    if (auto plain = RenderText(text, lookup, UseInVariable(name))) record->exec_env[name] = *plain;
  }
}

}  // namespace podctl
