#include "plans/kinds/pod/preconditions.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/members.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/change.h"
#include "providers/base/text.h"
#include "providers/slices.h"

namespace podctl {

// What the API said of a node.
struct NodePrecondition {
  NodeName name;
  bool there = false;
  std::string uid;
  // Of the Node resource what does not change by itself: without metadata, whose values may be
  // other people's secrets, and without health and maintenance.
  Value fields;
  std::map<std::string, std::string> metadata;  // every key, with a keyed digest of its value
};

PODCTL_MEMBERS(NodePrecondition, name, there, uid, fields, metadata)

namespace {

// What comes and goes by itself: the service's word on how the node fares. `metadata`, of which the
// keys of slices are a part, is looked at key by key.
constexpr const char* kPassing[] = {
    "health", "healthDescription", "symptoms", "upcomingMaintenance", "metadata", kSliceKeys};

NodePrecondition Take(const NodeName& name, const Value* node, const Digester& digest) {
  NodePrecondition saved;
  saved.name = name;
  if (node == nullptr) return saved;
  saved.there = true;
  saved.uid = NodeUid(*node);
  saved.fields = WithoutLineage(*node);  // who took that label away changed nothing of the plan's
  for (const char* passing : kPassing) saved.fields.Erase(passing);
  for (const auto& [entry, value] : (*node)["metadata"].AsMap()) {
    saved.metadata[entry] = digest(value.AsString());
  }
  return saved;
}

// The node that a change acts on, or whose steps it runs; nullptr: it is neither a pod's nor a
// step's.
const NodeName* NodeOf(const Change& change) {
  const PodChange* pod = AsPod(change);
  const StepChange* step = AsStep(change);
  return pod != nullptr ? &pod->node : step != nullptr ? &step->node : nullptr;
}

// The nodes that count, with the address that a user knows them by.
class Interest {
 public:
  explicit Interest(const State& state) : state_(state) {}

  void Add(const Change& change) {
    if (IsKeep(change) && change.previous_address.empty()) return;
    const NodeName* node = NodeOf(change);
    if (node == nullptr) return;
    const Address of = PodAddress(PodNameOf(change.address));
    nodes_.emplace(*node, of);
    AddRecord(of);
    AddRecord(change.previous_address);
    const PodChange* pod = AsPod(change);
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
  EachOf(before, after, [&](const std::string& key, const auto* old, const auto* now) {
    if (old == nullptr || now == nullptr || !(*old == *now)) paths->push_back(path + key);
  });
}

std::vector<std::string> DifferingPaths(const NodePrecondition& before,
                                        const NodePrecondition& after) {
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
std::string ChangeOf(const NodePrecondition& before, const NodePrecondition& after) {
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

// nullopt: it is none.
std::optional<NodePrecondition> Read(const Precondition& precondition) {
  NodePrecondition node;
  std::string problem;
  plan_file::Reader::Read(precondition.value, "stake", problem, node);
  if (!problem.empty()) return std::nullopt;
  return node;
}

}  // namespace

std::vector<Precondition> PreconditionsOfPods(const PreconditionInput& input) {
  std::vector<Precondition> preconditions;
  Interest interest(input.state);
  for (const Change& change : input.plan.changes) interest.Add(change);
  for (const Drift& drift : input.plan.drift) interest.AddRecord(drift.address);
  const PodSurvey& survey = PodsIn(input.observation);
  for (const auto& [name, address] : interest.nodes()) {
    preconditions.push_back(
        {address, plan_file::Writer::ToValue(Take(name, survey.Find(name), input.digest))});
  }
  return preconditions;
}

std::string ViolationOfPod(const Precondition& precondition, const Observation& observation,
                           const Digester& digest) {
  const auto before = Read(precondition);
  if (!before) return "how it was cannot be read";
  return ChangeOf(*before, Take(before->name, PodsIn(observation).Find(before->name), digest));
}

std::string PodWithoutPrecondition(const Plan& plan,
                                   const std::vector<Precondition>& preconditions) {
  std::set<NodeName> said;
  for (const Precondition& precondition : preconditions) {
    if (precondition.address.kind != kPodKind) continue;
    if (auto node = Read(precondition)) said.insert(std::move(node->name));
  }
  for (const Change& change : plan.changes) {
    if (IsKeep(change) && change.previous_address.empty()) continue;
    const NodeName* node = NodeOf(change);
    if (node != nullptr && !said.contains(*node)) return change.address.Text();
  }
  return {};
}

std::map<Address, Value> NodesThen(const Plan& plan,
                                   const std::vector<Precondition>& preconditions) {
  std::map<NodeName, Value> there;
  for (const Precondition& precondition : preconditions) {
    if (precondition.address.kind != kPodKind) continue;
    auto node = Read(precondition);
    if (node && node->there) there.emplace(std::move(node->name), std::move(node->fields));
  }
  std::map<Address, Value> nodes;
  for (const Change& change : plan.changes) {
    const PodChange* pod = AsPod(change);
    if (pod == nullptr || !LivesOn(change)) continue;
    const auto node = there.find(pod->node);
    if (node != there.end()) nodes.emplace(change.address, node->second);
  }
  return nodes;
}

}  // namespace podctl
