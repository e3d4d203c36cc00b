#include "plans/engine/plan_file/staleness.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/change.h"
#include "providers/base/text.h"
#include "providers/slices.h"

namespace podctl {
namespace {

// What comes and goes by itself: the service's word on how the node fares. `metadata`, of which the
// keys of slices are a part, is looked at key by key.
constexpr const char* kPassing[] = {
    "health", "healthDescription", "symptoms", "upcomingMaintenance", "metadata", kSliceKeys};

SavedNode Take(const NodeName& name, const Address& address, const Value* node,
               const SecretKey& key) {
  SavedNode saved;
  saved.name = name;
  saved.address = address;
  if (node == nullptr) return saved;
  saved.there = true;
  saved.uid = NodeUid(*node);
  saved.fields = WithoutLineage(*node);  // who took that label away changed nothing of the plan's
  for (const char* passing : kPassing) saved.fields.Erase(passing);
  for (const auto& [entry, value] : (*node)["metadata"].AsMap()) {
    saved.metadata[entry] = key.Digest(value.AsString());
  }
  return saved;
}

// The nodes that count, with the address that a user knows them by.
class Interest {
 public:
  explicit Interest(const State& state) : state_(state) {}

  void Add(const Change& change) {
    if (IsKeep(change) && change.previous_address.empty()) return;
    const PodChange* pod = AsPod(change);
    const StepChange* step = AsStep(change);
    if (pod == nullptr && step == nullptr) return;
    const Address of = PodAddress(PodNameOf(change.address));
    nodes_.emplace(pod == nullptr ? step->node : pod->node, of);
    AddRecord(of);
    AddRecord(change.previous_address);
    if (pod != nullptr && !IsDelete(change)) AddPod(pod->wanted);
  }
  void AddRecord(const Address& address) {
    const PodRecord* record = Pods(state_).Get(address);
    if (record == nullptr) return;
    nodes_.emplace(NameOf(*record), address);
    for (const Object& deposed : record->deposed) {
      nodes_.emplace(NodeName{record->project, record->zone, deposed.locator}, address);
    }
  }
  const std::map<NodeName, Address>& nodes() const { return nodes_; }

 private:
  void AddPod(const PodSpec& pod) {
    nodes_.emplace(NameOf(pod), PodAddress(pod.name));
    // References are read from these.
    for (const Address& address : pod.depends_on) AddRecord(address);
  }

  const State& state_;
  std::map<NodeName, Address> nodes_;
};

template <typename Map>
void AddDifferingKeys(const std::string& path, const Map& before, const Map& after,
                      std::vector<std::string>* paths) {
  std::set<std::string> keys;
  for (const auto& [key, value] : before) keys.insert(key);
  for (const auto& [key, value] : after) keys.insert(key);
  for (const std::string& key : keys) {
    const auto old = before.find(key);
    const auto now = after.find(key);
    const bool same = old != before.end() && now != after.end() && old->second == now->second;
    if (!same) paths->push_back(path + key);
  }
}

std::vector<std::string> DifferingPaths(const SavedNode& before, const SavedNode& after) {
  std::vector<std::string> tops;
  AddDifferingKeys("", before.fields.AsMap(), after.fields.AsMap(), &tops);
  std::vector<std::string> paths;
  for (const std::string& top : tops) {
    const Value& old = before.fields[top];
    const Value& now = after.fields[top];
    if (old.is_map() && now.is_map()) {
      AddDifferingKeys(top + ".", old.AsMap(), now.AsMap(), &paths);
    } else if (top != "state") {
      paths.push_back(top);
    }
  }
  AddDifferingKeys("metadata.", before.metadata, after.metadata, &paths);
  return paths;
}

// "" when nothing has changed.
std::string ChangeOf(const SavedNode& before, const SavedNode& after) {
  if (!before.there && !after.there) return "";
  if (!before.there) return fmt::format("a node named `{}` has appeared", before.name.node);
  if (!after.there) return fmt::format("the node `{}` was deleted", before.name.node);
  if (before.uid != after.uid) {
    return fmt::format("the node `{}` was deleted and made anew", before.name.node);
  }
  std::vector<std::string> clauses;
  const std::string was = NodeState(before.fields);
  const std::string is = NodeState(after.fields);
  if (was != is) clauses.push_back(fmt::format("it is {} and was {}", is, was));
  const auto paths = DifferingPaths(before, after);
  if (!paths.empty()) {
    clauses.push_back(
        fmt::format("{} {} changed", Join(paths, ", "), paths.size() == 1 ? "was" : "were"));
  }
  return Join(clauses, "; ");
}

}  // namespace

std::vector<SavedNode> TakeNodes(const Plan& plan, const State& state,
                                 const Observation& observation, const SecretKey& key) {
  std::vector<SavedNode> nodes;
  if (!plan.refreshed) return nodes;
  Interest interest(state);
  for (const Change& change : plan.changes) interest.Add(change);
  for (const Drift& drift : plan.drift) interest.AddRecord(drift.address);
  for (const auto& [name, address] : interest.nodes()) {
    nodes.push_back(Take(name, address, PodsIn(observation).Find(name), key));
  }
  return nodes;
}

std::vector<std::string> FindChanges(const std::vector<SavedNode>& nodes,
                                     const Observation& observation, const SecretKey& key) {
  std::vector<std::string> changes;
  for (const SavedNode& before : nodes) {
    const SavedNode after =
        Take(before.name, before.address, PodsIn(observation).Find(before.name), key);
    const std::string change = ChangeOf(before, after);
    if (!change.empty()) changes.push_back(fmt::format("{}: {}", before.address, change));
  }
  std::sort(changes.begin(), changes.end());
  return changes;
}

std::vector<SavedStake> TakeStakes(const Plan& plan, const Observation& observation) {
  std::vector<SavedStake> stakes;
  if (!plan.refreshed) return stakes;
  for (const Change& change : plan.changes) {
    const Kind* kind = change.payload.kind();
    const Value* seen = observation.Seen(change.address);
    if (kind == nullptr || seen == nullptr) continue;
    Value stake = kind->Stake(change, *seen);
    if (!stake.is_null()) stakes.push_back({change.address, std::move(stake)});
  }
  return stakes;
}

std::vector<std::string> FindOtherwise(const std::vector<SavedStake>& stakes,
                                       const Observation& observation, Kinds kinds) {
  std::vector<std::string> changes;
  for (const SavedStake& before : stakes) {
    const Kind* kind = FindKind(kinds, before.address.kind);
    const Value* now = observation.Seen(before.address);
    if (kind == nullptr || now == nullptr) continue;
    const std::string clause = kind->Otherwise(before.stake, *now);
    if (!clause.empty()) changes.push_back(fmt::format("{}: {}", before.address, clause));
  }
  return changes;
}

}  // namespace podctl
