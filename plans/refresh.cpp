#include "plans/refresh.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "plans/diff.h"
#include "plans/node_view.h"
#include "plans/planner.h"

namespace podctl {
namespace {

using ZoneName = std::pair<std::string, std::string>;

Error InZone(const Error& error, const ZoneName& zone) {
  return MakeError(
      error.code,
      fmt::format("cannot list the nodes of {} in {}: {}", zone.first, zone.second, error.message),
      error.hint);
}

// What one thread works off: zones to list, then operations to look up.
struct Errand {
  ZoneName zone;
  std::string operation;
};

class Collector {
 public:
  Collector(Provider& provider, std::vector<Errand> errands, std::stop_token stop)
      : provider_(provider), errands_(std::move(errands)), stop_(std::move(stop)) {}

  Result<Observation> Run(int parallelism) {
    const auto threads =
        std::min<std::size_t>(errands_.size(), static_cast<std::size_t>(std::max(1, parallelism)));
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 1; i < threads; ++i) workers.emplace_back([this] { Work(); });
      Work();
    }
    if (!errors_.empty()) return errors_.front();
    return std::move(observation_);
  }

 private:
  void Work() {
    for (std::size_t i = next_++; i < errands_.size(); i = next_++) {
      const Errand& errand = errands_[i];
      if (errand.operation.empty()) {
        List(errand.zone);
      } else {
        LookUp(errand.operation);
      }
    }
  }

  void List(const ZoneName& zone) {
    auto nodes = provider_.ListNodes(zone.first, zone.second, stop_);
    std::lock_guard lock(mutex_);
    if (!nodes) {
      errors_.push_back(InZone(nodes.error(), zone));
      return;
    }
    for (Value& node : *nodes) {
      NodeName name{zone.first, zone.second, NodeId(node)};
      observation_.nodes.insert_or_assign(std::move(name), std::move(node));
    }
  }

  void LookUp(const std::string& name) {
    auto operation = provider_.GetOperation(name, stop_);
    std::lock_guard lock(mutex_);
    if (operation) {
      observation_.operations[name] = std::move(*operation);
    } else if (operation.error().code != ErrorCode::kNotFound) {
      const Error& error = operation.error();
      errors_.push_back(MakeError(
          error.code, fmt::format("cannot look up {}: {}", name, error.message), error.hint));
    }  // a forgotten operation: the list of nodes alone decides
  }

  Provider& provider_;
  const std::vector<Errand> errands_;
  std::stop_token stop_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  Observation observation_;
  std::vector<Error> errors_;
};

// A create that an earlier run began, and that ended without it, left a node whose runtime started
// with the metadata it was created with.
void NoteRuntime(const std::string& address, const PodRecord& record, const Value& node,
                 State* state) {
  const Value* variables = node["metadata"].Find(kRuntimeEnvKey);
  if (variables == nullptr || NodeState(node) != "READY" || WorkerCount(node) < 2) return;
  StepRecord step;
  step.pod = address;
  for (int worker = 0; worker < static_cast<int>(WorkerCount(node)); ++worker) {
    step.workers[worker] = {RuntimeDigest(variables->AsString()), record.uid,
                            record.pending->begun_at};
  }
  state->steps[StepAddress(address.substr(address.find('.') + 1), kRuntimeStepName)] =
      std::move(step);
}

bool StillRunning(const PendingAction& pending, const Observation& observation) {
  auto it = observation.operations.find(pending.operation);
  return it != observation.operations.end() && !it->second.done;
}

// Returns false when the record is to be forgotten.
bool SettleRecord(const std::string& address, PodRecord* record, const Observation& observation,
                  State* state, std::vector<std::string>* notes) {
  const Value* node = observation.Find(NameOf(*record));
  if (node != nullptr) {
    const bool created =
        !record->exists && record->pending && record->pending->kind == PendingAction::Kind::kCreate;
    if (record->exists && !record->uid.empty() && record->uid != NodeUid(*node)) {
      notes->push_back(
          fmt::format("{}: the node was deleted and made anew outside of podctl", address));
    }
    TakeObserved(*node, record);
    if (created) {
      NoteRuntime(address, *record, *node, state);
      notes->push_back(fmt::format(
          "{}: an earlier run had begun to create it; the node is there and is taken up", address));
    }
    const bool unfinished = NodeState(*node) == "CREATING" || NodeState(*node) == "DELETING";
    if (record->pending && !unfinished && !StillRunning(*record->pending, observation)) {
      record->pending.reset();
    }
    return true;
  }
  record->observed = Value();
  if (!record->pending) return true;  // vanished: the planner says so
  const PendingAction& pending = *record->pending;
  if (pending.kind == PendingAction::Kind::kCreate && StillRunning(pending, observation)) {
    return true;
  }
  if (pending.kind == PendingAction::Kind::kPatch) {
    record->pending.reset();
    return true;
  }
  notes->push_back(
      pending.kind == PendingAction::Kind::kCreate
          ? fmt::format("{}: a creation begun by an earlier run left no node", address)
          : fmt::format("{}: its deletion, begun by an earlier run, is complete", address));
  return false;
}

}  // namespace

const Value* Observation::Find(const NodeName& name) const {
  auto it = nodes.find(name);
  return it == nodes.end() ? nullptr : &it->second;
}

NodeName NameOf(const PodSpec& pod) {
  return {pod.project, pod.zone, pod.node_id};
}
NodeName NameOf(const PodRecord& record) {
  return {record.project, record.zone, record.node_id};
}

void TakeObserved(const Value& node, PodRecord* record) {
  const std::string uid = NodeUid(node);
  if (record->uid != uid) {
    record->host_keys.clear();
    record->host_keys_source.clear();
  }
  record->uid = uid;
  record->observed = ObservedFacts(node);
  record->exists = true;
}

Result<Observation> Observe(const Spec& spec, const State& state, Provider& provider,
                            int parallelism, std::stop_token stop) {
  std::set<ZoneName> zones;
  std::vector<Errand> errands;
  for (const PodSpec& pod : spec.pods) zones.emplace(pod.project, pod.zone);
  for (const auto& [address, record] : state.pods) zones.emplace(record.project, record.zone);
  for (const ZoneName& zone : zones) errands.push_back({zone, {}});
  for (const auto& [address, record] : state.pods) {
    if (record.pending && !record.pending->operation.empty()) {
      errands.push_back({{}, record.pending->operation});
    }
  }
  return Collector(provider, std::move(errands), std::move(stop)).Run(parallelism);
}

State Settle(State state, const Observation& observation, std::vector<std::string>* notes) {
  for (auto it = state.pods.begin(); it != state.pods.end();) {
    if (SettleRecord(it->first, &it->second, observation, &state, notes)) {
      ++it;
      continue;
    }
    std::erase_if(state.steps, [&](const auto& step) { return step.second.pod == it->first; });
    it = state.pods.erase(it);
  }
  return state;
}

}  // namespace podctl
