#include <fmt/format.h>

#include "plans/node_view.h"
#include "plans/planner.h"
#include "plans/refresh.h"
#include "plans/spec/runtime_flags.h"
#include "plans/training_plan.h"
#include "providers/gcp/queued_resource.h"
#include "providers/slices.h"

namespace podctl {
namespace {

bool MayBeginUnheard(const PodRecord& record) {
  return !record.exists && record.pending && record.pending->kind == PendingAction::Kind::kCreate;
}

Address RuntimeStepAddress(const Address& pod_address) {
  return StepAddress(pod_address.name, kRuntimeStepName);
}

// A create that an earlier run began, and that ended without it, left a node whose runtime started
// with the metadata it was created with.
void NoteRuntime(const Address& address, const PodRecord& record, const Value& node, State* state) {
  const Value* variables = node["metadata"].Find(kRuntimeVariablesKey);
  if (variables == nullptr) state->steps.erase(RuntimeStepAddress(address));
  if (variables == nullptr || NodeState(node) != "READY" || WorkerCount(node) < 2) return;
  StepRecord step;
  step.pod = address;
  for (int worker = 0; worker < static_cast<int>(WorkerCount(node)); ++worker) {
    step.workers[worker] = {RuntimeDigest(variables->AsString()), record.uid,
                            record.pending->begun_at};
  }
  state->steps[RuntimeStepAddress(address)] = std::move(step);
}

bool StillRunning(const PendingAction& pending, const Observation& observation) {
  auto it = observation.operations.find(pending.operation);
  return it != observation.operations.end() && !it->second.done;
}

class Settlement {
 public:
  Settlement(State& state, const Observation& observation, std::vector<std::string>& notes)
      : state_(state), observation_(observation), notes_(notes) {}

  void Run() {
    std::vector<Address> addresses;
    for (const auto& [address, record] : state_.pods) addresses.push_back(address);
    for (const Address& address : addresses) {
      PodRecord& record = state_.pods.at(address);
      SettleDeposed(address, record);
      const Value* node = observation_.Find(NameOf(record));
      const Value* queued = observation_.FindQueued(record);
      if (record.queued) {
        record.queued->state = queued == nullptr ? "" : gcp::QueuedState(*queued);
      }
      if (node != nullptr) {
        SettleThere(address, *node, record);
      } else if (queued != nullptr) {
        SettleQueued(*queued, record);
      } else {
        SettleGone(address, record);
      }
      const bool empty = !record.exists && !record.pending && queued == nullptr &&
                         record.deposed.empty() && !IsSought(record);
      if (empty) ForgetNode(address, &state_);
    }
  }

 private:
  void Note(const Address& address, std::string_view text) {
    notes_.push_back(fmt::format("{}: {}", address, text));
  }

  void SettleThere(const Address& address, const Value& node, PodRecord& record) {
    const bool created = MayBeginUnheard(record);
    if (!record.exists && !created) return;  // somebody else's, under a name that was ours
    const bool whole = !IsJoined(node) || (!record.pending && NodeState(node) != kMissingSlice);
    if (record.exists && !record.uid.empty() && record.uid != NodeUid(node) && whole) {
      Note(address, "the node was deleted and made anew outside of podctl");
    }
    TakeObserved(node, &record);
    if (created) {
      NoteRuntime(address, record, node, &state_);
      // Whoever began it did not live to see its workers.
      state_.steps[StepAddress(address.name, kReadinessStepName)] = {address, {}};
      Note(address, "an earlier run had begun to create it; the node is there and is taken up");
    }
    const bool unfinished = NodeState(node) == "CREATING" || NodeState(node) == "DELETING";
    if (record.pending && !unfinished && !StillRunning(*record.pending, observation_)) {
      record.pending.reset();
    }
    if (!record.pending) record.capacity_since.clear();  // found
  }

  // There is a request, and no node (yet, or any more).
  void SettleQueued(const Value& queued, PodRecord& record) const {
    record.observed = Value();
    if (!record.pending) return;
    using gcp::QueuedPhase;
    const QueuedPhase phase = gcp::PhaseOf(record.queued->state);
    const bool comes = phase != QueuedPhase::kOver && phase != QueuedPhase::kGoing;
    const bool open = record.pending->kind == PendingAction::Kind::kCreate
                          ? comes
                          : gcp::QueuedState(queued) == "DELETING";
    if (!open && !StillRunning(*record.pending, observation_)) record.pending.reset();
  }

  void SettleGone(const Address& address, PodRecord& record) {
    if (!record.pending) {
      record.observed = Value();  // vanished: the planner says so
      return;
    }
    PendingAction& pending = *record.pending;
    switch (pending.kind) {
      case PendingAction::Kind::kPatch:
        record.observed = Value();
        record.pending.reset();
        return;
      case PendingAction::Kind::kDelete:
        Note(address, "its deletion, begun by an earlier run, is complete");
        return ForgetOrKeep(record);
      case PendingAction::Kind::kCreate:
        break;
    }
    if (pending.operation.empty()) {
      const auto begun = observation_.begun.find(NameOf(record));
      // It may have been sent a moment before the run ended, and not be seen anywhere yet.
      if (begun == observation_.begun.end()) return;
      pending.operation = begun->second;
    }
    if (StillRunning(pending, observation_)) return;
    Note(address, "a creation begun by an earlier run left no node");
    if (!ReinstateDeposed(&record)) return ForgetOrKeep(record);
    const Value* old = observation_.Find(NameOf(record));
    if (old != nullptr) TakeObserved(*old, &record);
  }

  // Run() forgets the record when nothing is left of it.
  static void ForgetOrKeep(PodRecord& record) {
    record.exists = false;
    record.queued.reset();
    record.uid.clear();
    record.pending.reset();
    record.observed = Value();
  }

  void SettleDeposed(const Address& address, PodRecord& record) {
    std::erase_if(record.deposed, [&](DeposedNode& deposed) {
      const Value* node = observation_.Find(NameOf(record, deposed));
      if (node == nullptr) return true;
      if (!deposed.uid.empty() && deposed.uid != NodeUid(*node)) {
        Note(address, fmt::format("the deposed node {} is gone; what has its name now is somebody "
                                  "else's, and is left alone",
                                  deposed.node_id));
        return true;
      }
      if (deposed.pending && NodeState(*node) != "DELETING" &&
          !StillRunning(*deposed.pending, observation_)) {
        deposed.pending.reset();
      }
      return false;
    });
  }

  State& state_;
  const Observation& observation_;
  std::vector<std::string>& notes_;
};

}  // namespace

void TakeObserved(const Value& node, PodRecord* record) {
  const std::string uid = NodeUid(node);
  if (record->uid != uid) {
    record->host_keys.clear();
    record->vm_names.clear();
    record->host_keys_source.clear();
  }
  record->uid = uid;
  record->observed = ObservedFacts(node);
  record->exists = true;
}

void ForgetNode(const Address& address, State* state) {
  const auto it = state->pods.find(address);
  if (it == state->pods.end()) return;
  std::erase_if(state->steps, [&](const auto& step) { return step.second.pod == address; });
  PodRecord& record = it->second;
  if (record.deposed.empty() && !IsSought(record)) {
    state->pods.erase(it);
    return;
  }
  record.exists = false;
  record.uid.clear();
  record.queued.reset();
  record.pending.reset();
  record.observed = Value();
  record.host_keys.clear();
  record.vm_names.clear();
  record.host_keys_source.clear();
}

void ForgetDeposed(const Address& address, const std::string& node_id, State* state) {
  const auto it = state->pods.find(address);
  if (it == state->pods.end()) return;
  PodRecord& record = it->second;
  std::erase_if(record.deposed,
                [&](const DeposedNode& deposed) { return deposed.node_id == node_id; });
  const bool empty =
      !record.exists && !record.pending && record.deposed.empty() && !IsSought(record);
  if (empty) ForgetNode(address, state);
}

bool ReinstateDeposed(PodRecord* record) {
  if (record->deposed.empty()) return false;
  const DeposedNode old = record->deposed.back();
  record->deposed.pop_back();
  record->node_id = old.node_id;
  if (record->wanted_node_id == old.node_id) record->wanted_node_id.clear();
  record->uid = old.uid;
  record->pending = old.pending;
  record->exists = true;
  return true;
}

State Settle(State state, const Observation& observation, std::vector<std::string>* notes) {
  Settlement(state, observation, *notes).Run();
  SettleTraining(observation, &state, notes);
  return state;
}

}  // namespace podctl
