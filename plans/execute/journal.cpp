#include "plans/execute/journal.h"

#include <algorithm>

#include "plans/diff.h"
#include "plans/refresh.h"
#include "state/digest.h"

namespace podctl {
Journal::Journal(State& state, StateStore& store, Clock& clock, Random& random, NodeLookup lookup)
    : state_(state), store_(store), clock_(clock), lookup_(std::move(lookup)) {
  if (state_.digest_key.empty()) state_.digest_key = NewDigestKey(random);
}

void Journal::CopyBookkeeping(const PodSpec& pod, PodRecord* record) const {
  record->ssh = pod.ssh;
  record->depends_on = pod.depends_on;
  record->prevent_destroy = pod.lifecycle.prevent_destroy;
  record->exec_env.clear();
  for (const auto& [name, text] : pod.runtime_env) {
    if (auto plain = RenderText(text, lookup_)) record->exec_env[name] = *plain;
  }
}

const PodRecord* Journal::Find(const std::string& address) const {
  auto it = state_.pods.find(address);
  return it == state_.pods.end() ? nullptr : &it->second;
}

PodRecord& Journal::At(const std::string& address) {
  dirty_ = true;
  return state_.pods[address];
}

void Journal::NotePod(const PodSpec& pod) {
  const std::string address = PodAddress(pod.name);
  if (Find(address) == nullptr) return;
  CopyBookkeeping(pod, &At(address));
}

void Journal::Begin(PodRecord& record, PendingAction::Kind kind) {
  record.pending = PendingAction{kind, "", FormatTimestamp(clock_.Now()), state_.serial};
}

void Journal::BeginCreate(const PodSpec& pod) {
  PodRecord fresh;
  fresh.project = pod.project;
  fresh.zone = pod.zone;
  fresh.node_id = pod.node_id;
  CopyBookkeeping(pod, &fresh);
  Begin(fresh, PendingAction::Kind::kCreate);
  At(PodAddress(pod.name)) = std::move(fresh);
}

void Journal::BeginPatch(const std::string& address) {
  Begin(At(address), PendingAction::Kind::kPatch);
}

void Journal::BeginDelete(const std::string& address) {
  Begin(At(address), PendingAction::Kind::kDelete);
}

void Journal::OperationStarted(const std::string& address, const std::string& operation) {
  PodRecord& record = At(address);
  if (record.pending) record.pending->operation = operation;
}

void Journal::Withdraw(const std::string& address) {
  PodRecord& record = At(address);
  record.pending.reset();
  if (!record.exists) PodGone(address);
}

void Journal::Remember(const PodSpec& pod, const Value& metadata, PodRecord* record) {
  record->metadata.clear();
  record->sensitive_keys.clear();
  for (const auto& [key, entry] : pod.metadata) {
    record->metadata[key] =
        RememberedValue(metadata[key].AsString(), entry.sensitive, state_.digest_key);
    if (entry.sensitive) record->sensitive_keys.push_back(key);
  }
}

void Journal::PodWritten(const PodSpec& pod, const Value& sent, const Value& node,
                         const std::vector<std::string>& fields) {
  PodRecord& record = At(PodAddress(pod.name));
  TakeObserved(node, &record);
  CopyBookkeeping(pod, &record);
  record.pending.reset();
  if (fields.empty()) {
    record.applied = sent;
    record.applied.Erase("metadata");
    Remember(pod, sent["metadata"], &record);
    return;
  }
  for (const std::string& field : fields) {
    if (field == "metadata") {
      Remember(pod, sent["metadata"], &record);
    } else if (const Value* specified = pod.node.FindPath(field)) {
      // Of a merged map only the spec's own keys are podctl's.
      Value own = *sent.FindPath(field);
      if (specified->is_map()) {
        std::erase_if(own.MutableMap(),
                      [&](const auto& member) { return specified->Find(member.first) == nullptr; });
      }
      record.applied.SetPath(field, std::move(own));
    } else {
      record.applied.ErasePath(field);
    }
  }
}

void Journal::PodGone(const std::string& address) {
  dirty_ = true;
  std::erase_if(state_.steps, [&](const auto& step) { return step.second.pod == address; });
  state_.pods.erase(address);
}

void Journal::HostKeys(const std::string& address,
                       const std::map<int, std::vector<HostKeyText>>& keys,
                       const std::string& source) {
  if (keys.empty() || Find(address) == nullptr) return;
  PodRecord& record = At(address);
  for (const auto& [worker, known] : keys) record.host_keys[worker] = known;
  record.host_keys_source = source;
}

void Journal::StepApplied(const std::string& step, const std::string& pod, int worker,
                          const std::string& digest) {
  dirty_ = true;
  StepRecord& record = state_.steps[step];
  record.pod = pod;
  record.workers[worker] = {digest, At(pod).uid, FormatTimestamp(clock_.Now())};
}

Result<void> Journal::Flush() {
  if (!dirty_) return {};
  if (auto saved = store_.Save(state_); !saved) return saved;
  dirty_ = false;
  return {};
}

}  // namespace podctl
