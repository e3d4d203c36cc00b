#include "plans/kinds/pod/settle.h"

#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/text.h"
#include "providers/slices.h"
#include "state/transitions.h"

namespace podctl {
namespace {

Address RuntimeStepAddress(const Address& pod_address) {
  return StepAddress(pod_address.name, kRuntimeStepName);
}

// A create that an earlier run began, and that ended without it, left a node whose runtime started
// with the metadata it was created with.
void NoteRuntime(const Address& address, const PodRecord& record, const Value& node, State* state) {
  const Value* variables = node["metadata"].Find(kRuntimeVariablesKey);
  if (variables == nullptr) Steps(*state).erase(RuntimeStepAddress(address));
  if (variables == nullptr || NodeState(node) != "READY" || WorkerCount(node) < 2) return;
  StepRecord step;
  step.pod = address;
  for (int worker = 0; worker < static_cast<int>(WorkerCount(node)); ++worker) {
    step.workers[worker] = {RuntimeDigest(variables->AsString()), record.uid(),
                            record.pending()->begun_at};
  }
  Steps(*state)[RuntimeStepAddress(address)] = std::move(step);
}

void ForgetWorkers(PodRecord* record) {
  record->host_keys.clear();
  record->vm_names.clear();
  record->host_keys_source.clear();
}

bool IsBeingMade(const Object& object) {
  return std::holds_alternative<Creating>(object.life);
}

bool IsGoingAway(const Object& object) {
  return std::holds_alternative<Deleting>(object.life);
}

// Another record that has the node `uid`; or a node of the name of `object`, and has never heard
// its uid; or that has begun to make one of that name when `object` must have been gone. Two may
// stand after each other under one name until the first is known to be gone
// (state/shared_objects.cpp).
const Address* FindSuccessor(const State& state, const Address& address, const NodeName& name,
                             const Object& object, const std::string& uid) {
  const bool was_there =
      object.exists() && !IsBeingMade(object) && (IsGoingAway(object) || !object.uid.empty());
  const auto has = [&](const PodRecord& its, const Object& one) {
    if (!one.exists() || !one.uid.empty()) return one.exists() && SharesUid(one.uid, uid);
    if (IsBeingMade(one) || IsGoingAway(one) || one.locator != name.node) return false;
    return (&one == &its.current ? NameOf(its) : NameOf(its, one)) == name;
  };
  for (const auto& [other, record] : Pods(state)) {
    if (other == address) continue;
    const PodRecord& its = record;  // not taken apart: clang 14 lets no lambda capture a part
    if (has(its, its.current) || std::any_of(its.deposed.begin(), its.deposed.end(),
                                             [&](const Object& one) { return has(its, one); })) {
      return &other;
    }
    const bool makes = was_there && (IsBeingMade(its.current) || IsUnheard(its));
    if (makes && its.current.locator == name.node && NameOf(its) == name) return &other;
  }
  return nullptr;
}

class Settlement {
 public:
  Settlement(State& state, const PodSurvey& observation, std::vector<std::string>& notes)
      : state_(state), observation_(observation), notes_(notes) {}

  void Run() {
    std::vector<Address> addresses;
    for (const auto& [address, record] : Pods(state_)) addresses.push_back(address);
    for (const Address& address : addresses) {
      PodRecord& record = Pods(state_).at(address);
      SettleDeposed(address, record);
      const Value* node = NodeOf(observation_, state_, address, record);
      const bool may_come = BackingOf(record).Settle(observation_, state_.lineage, node, &record);
      if (node != nullptr) {
        SettleThere(address, *node, record);
      } else if (!may_come) {
        SettleGone(address, record);
      }
      if (!may_come && !record.exists() && !record.pending()) {
        ComeFrom({}, &record);
        BackingOf(record).Forget(&record);
      }
      if (IsEmpty(record)) ForgetNode(address, &state_);
    }
  }

 private:
  void Note(const Address& address, std::string_view text) {
    notes_.push_back(fmt::format("{}: {}", address, text));
  }

  void SettleThere(const Address& address, const Value& node, PodRecord& record) {
    const bool created = IsUnheard(record);
    if (!record.exists() && !created) return;  // somebody else's, under a name that was ours
    const bool whole = !IsJoined(node) || (!record.pending() && NodeState(node) != kMissingSlice);
    if (record.exists() && !record.uid().empty() && record.uid() != NodeUid(node) && whole) {
      Note(address, "the node was deleted and made anew outside of podctl");
    }
    TakeObserved(node, &record);
    if (created) {
      NoteRuntime(address, record, node, &state_);
      // Whoever began it did not live to see its workers.
      Steps(state_)[StepAddress(address.name, kReadinessStepName)] = {address, {}};
      Note(address, "an earlier run had begun to create it; the node is there and is taken up");
    }
    const bool unfinished = NodeState(node) == "CREATING" || NodeState(node) == "DELETING";
    const auto pending = record.pending();
    if (pending && !unfinished && !observation_.IsRunning(*pending)) EndRequest({}, &record);
    if (!record.pending()) StopSeeking(&record);  // found
  }

  void SettleGone(const Address& address, PodRecord& record) {
    auto pending = record.pending();
    const Value* other = observation_.Find(NameOf(record));
    std::string whose =
        other == nullptr ? "" : WhoseNode(*other, state_, address, NameOf(record), record.current);
    const std::string request =
        BackingOf(record).WhoseRequest(record, nullptr, observation_, state_.lineage);
    if (whose.empty()) whose = request;
    if (!pending) {
      record.observed = Value();  // vanished: the planner says so
      if (!whose.empty() && (record.exists() || !request.empty())) {
        Note(address, fmt::format("its {} is gone; what has its name now {}, and is left alone",
                                  record.exists() ? "node" : "queued resource", whose));
      }
      return;
    }
    switch (pending->kind) {
      case PendingAction::Kind::kPatch:
        record.observed = Value();
        EndRequest({}, &record);
        return;
      case PendingAction::Kind::kDelete:
        Note(address, "its deletion, begun by an earlier run, is complete");
        return ForgetOrKeep(record);
      case PendingAction::Kind::kCreate:
        break;
    }
    // Where another state's node has the name, it was refused, whatever became of the answer. Where
    // it was seen, and another record's is there by now, it is gone.
    const bool refused =
        !request.empty() ||
        (other != nullptr && (IsOfAnotherState(*other, record.uid(), state_.lineage) ||
                              (record.exists() && !whose.empty())));
    if (pending->operation.empty() && !refused) {
      const auto begun = observation_.begun.find(NameOf(record));
      // It may have been sent a moment before the run ended, and not be seen anywhere yet.
      if (begun == observation_.begun.end()) return;
      NoteOperation({}, begun->second, &record);
      pending = record.pending();
    }
    if (observation_.IsRunning(*pending)) return;
    if (refused) {
      Note(address,
           fmt::format("a creation begun by an earlier run left no node; what has its name "
                       "{}, and is left alone",
                       whose));
    } else {
      Note(address, "a creation begun by an earlier run left no node");
    }
    if (!Reinstate(&record)) return ForgetOrKeep(record);
    BackingOf(record).Forget(&record);  // of the new node, which the old one has no part in
    SettleWantedId(&record);
    const Value* old = observation_.Find(NameOf(record));
    if (old != nullptr) TakeObserved(*old, &record);
  }

  // Run() forgets the record when nothing is left of it.
  static void ForgetOrKeep(PodRecord& record) {
    Lose({}, &record);
    BackingOf(record).Forget(&record);
    record.observed = Value();
  }

  void SettleDeposed(const Address& address, PodRecord& record) {
    const std::vector<Object> all = record.deposed;
    for (const Object& deposed : all) {
      const Value* node = observation_.Find(NameOf(record, deposed));
      const auto pending = deposed.pending();
      if (node == nullptr) {
        Lose(deposed.locator, &record);
      } else if ((!deposed.uid.empty() && deposed.uid != NodeUid(*node)) ||
                 !WhoseNode(*node, state_, address, NameOf(record, deposed), deposed).empty()) {
        Note(address, fmt::format("the deposed node {} is gone; what has its name now is somebody "
                                  "else's, and is left alone",
                                  deposed.locator));
        Lose(deposed.locator, &record);
      } else if (pending && NodeState(*node) != "DELETING" && !observation_.IsRunning(*pending)) {
        EndRequest(deposed.locator, &record);
      }
    }
  }

  State& state_;
  const PodSurvey& observation_;
  std::vector<std::string>& notes_;
};

}  // namespace

std::string WhoseNode(const Value& node, const State& state, const Address& address,
                      const NodeName& name, const Object& object) {
  const std::string uid = NodeUid(node);
  if (object.exists() && object.uid == uid && !uid.empty()) return {};
  if (IsOfAnotherState(node, object.uid, state.lineage)) {
    return fmt::format("was made with another state, of lineage {}",
                       VisibleControls(LineageOf(node)));
  }
  const Address* other = FindSuccessor(state, address, name, object, uid);
  return other == nullptr ? "" : fmt::format("is that of {}", *other);
}

const Value* NodeOf(const PodSurvey& survey, const State& state, const Address& address,
                    const PodRecord& record) {
  const Value* node = survey.Find(NameOf(record));
  const bool own =
      node != nullptr && WhoseNode(*node, state, address, NameOf(record), record.current).empty();
  return own ? node : nullptr;
}

void TakeObserved(const Value& node, PodRecord* record) {
  const std::string uid = NodeUid(node);
  if (record->uid() != uid) ForgetWorkers(record);
  See(uid, record);
  record->observed = ObservedFacts(node);
}

void ForgetNode(const Address& address, State* state) {
  if (!Pods(*state).contains(address)) return;
  Steps(*state).EraseIf(
      [&](const Address&, const StepRecord& step) { return step.pod == address; });
  PodRecord& record = Pods(*state)[address];
  Lose({}, &record);
  if (IsEmpty(record)) {
    Pods(*state).erase(address);
    return;
  }
  BackingOf(record).Forget(&record);
  record.observed = Value();
  ForgetWorkers(&record);
}

void ForgetDeposed(const Address& address, const std::string& node_id, State* state) {
  if (!Pods(*state).contains(address)) return;
  PodRecord& record = Pods(*state)[address];
  Lose(node_id, &record);
  if (IsEmpty(record)) ForgetNode(address, state);
}

void SettleWantedId(PodRecord* record) {
  if (record->wanted_node_id == record->current.locator) record->wanted_node_id.clear();
}

void SettlePods(const PodSurvey& survey, State* state, std::vector<std::string>* notes) {
  Settlement(*state, survey, *notes).Run();
}

}  // namespace podctl
