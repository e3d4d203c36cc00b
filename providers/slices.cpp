#include "providers/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/ssh_key_lines.h"
#include "providers/base/text.h"
#include "providers/node.h"

namespace podctl {
namespace {

constexpr const char* kSlices = "slices";
constexpr int kMostSlices = 9999;

// The worst first; anything else that is not READY stands between.
int Badness(const std::string& state) {
  if (state == kMissingSlice) return 6;
  if (state == "TERMINATED") return 5;
  if (state == "PREEMPTED") return 4;
  if (state == "DELETING") return 3;
  if (state == "CREATING") return 2;
  return state == "READY" ? 0 : 1;
}

// "research-12" -> {"research", 12}; -1 for any other form.
std::pair<std::string, int> SplitSliceId(const std::string& id) {
  const auto dash = id.rfind('-');
  if (dash == std::string::npos) return {id, -1};
  const auto slice = ParseNumber<int>(std::string_view(id).substr(dash + 1));
  if (!slice || *slice < 0 || *slice >= kMostSlices) return {id, -1};
  if (std::to_string(*slice) != id.substr(dash + 1)) return {id, -1};
  return {id.substr(0, dash), *slice};
}

Value Summary(const std::string& node_id, const Value* node) {
  Value summary = Value::EmptyMap();
  summary.Set("nodeId", node_id);
  if (node == nullptr) {
    summary.Set("state", kMissingSlice);
    return summary;
  }
  for (const char* key : {"id", "state", "health", "healthDescription"}) {
    if (const Value* value = node->Find(key)) summary.Set(key, *value);
  }
  summary.Set("workers", static_cast<std::uint64_t>(WorkerCount(*node)));
  return summary;
}

// Members that every one of `nodes` has with the same value.
Value Agreed(const std::map<int, Value>& nodes, const char* field) {
  Value agreed = Value::EmptyMap();
  for (const auto& member : nodes.begin()->second[field].AsMap()) {
    // Not taken apart: clang 14 lets no lambda capture a part.
    const bool everywhere = std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
      const Value* there = node.second[field].Find(member.first);
      return there != nullptr && *there == member.second;
    });
    if (everywhere) agreed.Set(member.first, member.second);
  }
  return agreed;
}

// Keys that every one of `nodes` lets in; each may let in more, which `joined` then tells.
std::string AgreedKeys(const std::map<int, Value>& nodes, Value* joined) {
  std::vector<std::string> texts;
  for (const auto& [slice, node] : nodes) texts.push_back(node["metadata"][kSshKeys].AsString());
  const bool same = std::all_of(texts.begin(), texts.end(),
                                [&](const std::string& text) { return text == texts.front(); });
  if (same) return texts.front();
  Value of_each = Value::EmptyMap();
  for (const auto& [slice, node] : nodes) {
    of_each.Set(std::to_string(slice), node["metadata"][kSshKeys]);
  }
  joined->Set(kSliceKeys, std::move(of_each));
  return SharedSshKeys(texts.front(), texts);
}

// The state and health of the whole are those of its worst slice.
void TakeWorst(Value* joined) {
  const Value* worst = nullptr;
  bool all_have_workers = true;
  for (const Value& slice : (*joined)[kSlices].AsList()) {
    all_have_workers = all_have_workers && slice["workers"].AsInt() > 0;
    if (worst == nullptr ||
        Badness(slice["state"].AsString()) > Badness((*worst)["state"].AsString())) {
      worst = &slice;
    }
  }
  const Value::List& slices = (*joined)[kSlices].AsList();
  const auto sick = std::find_if(slices.begin(), slices.end(), [](const Value& slice) {
    const std::string& health = slice["health"].AsString();
    return !health.empty() && health != "HEALTHY";
  });
  const Value state = (*worst)["state"];
  const Value ill = sick == slices.end() ? Value() : *sick;
  joined->Set("state", state);
  if (ill.is_map()) {
    joined->Set("health", ill["health"]);
    joined->Set("healthDescription", ill["healthDescription"]);
  }
  // Numbers must not shift when the last slice's endpoints come.
  if (!all_have_workers) joined->Set("networkEndpoints", Value::EmptyList());
}

Operation JoinOperations(const std::vector<Operation>& operations) {
  Operation joined;
  joined.done = true;
  for (const Operation& operation : operations) {
    if (!joined.name.empty()) joined.name += ' ';
    joined.name += operation.name;
    joined.done = joined.done && operation.done;
    if (joined.error.empty()) joined.error = operation.error;
    joined.verb = operation.verb;
  }
  // One that failed is told when all are over: what still runs must not be left behind.
  if (!joined.done) joined.error.clear();
  return joined;
}

// What is to be sent to one slice: the change from `joined` to `body`, made on its own map.
Value SliceMap(const Value& mine, const Value& joined, const Value& body) {
  Value map = mine.is_map() ? mine : Value::EmptyMap();
  for (const auto& [key, value] : joined.AsMap()) {
    if (body.Find(key) == nullptr) map.Erase(key);
  }
  for (const auto& [key, value] : body.AsMap()) map.Set(key, value);
  return map;
}

// The same of `ssh-keys`, whose lines are each somebody's.
std::string SliceKeys(std::string mine, const std::string& joined, const std::string& body) {
  if (mine == joined) return body;
  for (const std::string& line : SplitSshKeyLines(joined)) {
    if (!HoldsSshKey(body, line)) mine = WithoutSshKey(mine, line);
  }
  for (const std::string& line : SplitSshKeyLines(body)) {
    if (!HoldsSshKey(joined, line)) mine = WithSshKey(std::move(mine), line);
  }
  return mine;
}

Value SliceMetadata(const Value& mine, const Value& joined, const Value& body) {
  Value map = SliceMap(mine, joined, body);
  const std::string keys =
      SliceKeys(mine[kSshKeys].AsString(), joined[kSshKeys].AsString(), body[kSshKeys].AsString());
  map.Erase(kSshKeys);
  if (!keys.empty()) map.Set(kSshKeys, keys);
  return map;
}

std::string OriginOf(const Value& node) {
  const std::string& from = node["queuedResource"].AsString();
  return from.empty() ? "no queued resource" : from;
}

Error NotFound(const NodeName& name) {
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("Resource '{}-0' was not found", name.Resource()));
}

}  // namespace

NodeName SliceName(const NodeName& multislice, int slice) {
  return {multislice.project, multislice.zone, fmt::format("{}-{}", multislice.node, slice)};
}

bool IsJoined(const Value& node) {
  return node.Find(kSlices) != nullptr;
}

Value JoinSlices(const NodeName& name, const std::map<int, Value>& slices) {
  if (slices.empty()) return {};
  Value joined = slices.begin()->second;
  joined.Set("name", name.Resource());
  for (const char* field : {"labels", "metadata"}) joined.Set(field, Agreed(slices, field));
  if (const std::string keys = AgreedKeys(slices, &joined); !keys.empty()) {
    Value metadata = joined["metadata"];
    metadata.Set(kSshKeys, keys);
    joined.Set("metadata", std::move(metadata));
  }
  Value::List summaries;
  Value::List endpoints;
  std::string ids;
  const int count = std::max(name.slices, slices.rbegin()->first + 1);
  for (int slice = 0; slice < count; ++slice) {
    const auto node = slices.find(slice);
    const Value* there = node == slices.end() ? nullptr : &node->second;
    summaries.push_back(Summary(SliceName(name, slice).node, there));
    if (!ids.empty()) ids += '+';
    if (there == nullptr) continue;
    const Value& id = (*there)["id"];
    ids += id.is_int() ? std::to_string(id.AsInt()) : id.AsString();
    const Value::List& of_slice = (*there)["networkEndpoints"].AsList();
    endpoints.insert(endpoints.end(), of_slice.begin(), of_slice.end());
  }
  joined.Set("id", ids);
  joined.Set("networkEndpoints", std::move(endpoints));
  joined.Set(kSlices, std::move(summaries));
  TakeWorst(&joined);
  return joined;
}

void ExpectSlices(Value* joined, int count) {
  Value::List slices = (*joined)[kSlices].AsList();
  if (static_cast<int>(slices.size()) >= count) return;
  const std::string prefix = NodeId(*joined);
  for (int slice = static_cast<int>(slices.size()); slice < count; ++slice) {
    slices.push_back(Summary(fmt::format("{}-{}", prefix, slice), nullptr));
  }
  joined->Set(kSlices, std::move(slices));
  TakeWorst(joined);
}

std::vector<Value> FindMultislices(const NodeName& zone, const std::vector<Value>& nodes) {
  std::map<std::pair<std::string, std::string>, std::map<int, Value>> groups;
  for (const Value& node : nodes) {
    if (!node["multisliceNode"].AsBool()) continue;
    const auto [prefix, slice] = SplitSliceId(NodeId(node));
    if (slice >= 0) groups[{node["queuedResource"].AsString(), prefix}][slice] = node;
  }
  std::vector<Value> joined;
  for (const auto& [group, slices] : groups) {
    joined.push_back(JoinSlices({zone.project, zone.zone, group.second}, slices));
  }
  return joined;
}

Result<std::vector<Value>> SlicedProvider::ListNodes(const std::string& project,
                                                     const std::string& zone,
                                                     std::stop_token stop) {
  auto nodes = provider_.ListNodes(project, zone, std::move(stop));
  if (!nodes) return nodes;
  std::vector<Value> joined = FindMultislices({project, zone, {}}, *nodes);
  std::move(joined.begin(), joined.end(), std::back_inserter(*nodes));
  return nodes;
}

// A multislice comes from one queued resource. Who took the name of a slice that was lost is none
// of it, and what is sent to the multislice must not reach him.
static Result<void> CheckOfOne(const std::map<int, Value>& slices) {
  const Value& first = slices.begin()->second;
  for (const auto& [slice, node] : slices) {
    const std::string& from = node["queuedResource"].AsString();
    if (from == first["queuedResource"].AsString()) continue;
    return MakeError(
        ErrorCode::kFailedPrecondition,
        VisibleControls(
            fmt::format("the nodes {} and {} are not of one multislice: one is of {}, the other of "
                        "{}",
                        NodeId(first), NodeId(node), OriginOf(first), OriginOf(node))),
        "One of them was made by somebody else under the name of a slice that was "
        "gone. Delete that one, or replace the pod under another name.");
  }
  return {};
}

Result<std::map<int, Value>> SlicedProvider::GetSlices(const NodeName& name,
                                                       const std::stop_token& stop) {
  std::map<int, Value> slices;
  for (int slice = 0; slice < name.slices; ++slice) {
    auto node = provider_.GetNode(SliceName(name, slice), stop);
    if (node) {
      slices[slice] = *std::move(node);
    } else if (node.error().code != ErrorCode::kNotFound) {
      return node.error();
    }
  }
  if (slices.empty()) return NotFound(name);
  if (auto of_one = CheckOfOne(slices); !of_one) return of_one.error();
  return slices;
}

Result<Value> SlicedProvider::GetNode(const NodeName& name, std::stop_token stop) {
  if (name.slices < 2) return provider_.GetNode(name, std::move(stop));
  auto slices = GetSlices(name, stop);
  if (!slices) return slices.error();
  return JoinSlices(name, *slices);
}

Provider& SlicedProvider::InVersion(ApiVersion version) {
  Provider& inner = provider_.InVersion(version);
  if (&inner == &provider_) return *this;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<SlicedProvider>& other = versions_[&inner];
  if (other == nullptr) other = std::make_unique<SlicedProvider>(inner);
  return *other;
}

Result<Operation> SlicedProvider::CreateNode(const NodeName& name, const Value& node,
                                             const std::string& request_id, std::stop_token stop) {
  if (name.slices < 2) return provider_.CreateNode(name, node, request_id, std::move(stop));
  return MakeError(ErrorCode::kInvalidArgument, "only a queued resource makes several slices");
}

Result<Operation> SlicedProvider::PatchNode(const NodeName& name, const Value& node,
                                            const std::vector<std::string>& update_mask,
                                            std::stop_token stop) {
  if (name.slices < 2) return provider_.PatchNode(name, node, update_mask, std::move(stop));
  auto slices = GetSlices(name, stop);
  if (!slices) return slices.error();
  const Value joined = JoinSlices(name, *slices);
  std::vector<Operation> operations;
  for (const auto& [slice, there] : *slices) {
    Value body = node;
    if (body.Find("labels") != nullptr) {
      body.Set("labels", SliceMap(there["labels"], joined["labels"], node["labels"]));
    }
    if (body.Find("metadata") != nullptr) {
      body.Set("metadata", SliceMetadata(there["metadata"], joined["metadata"], node["metadata"]));
    }
    auto operation = provider_.PatchNode(SliceName(name, slice), body, update_mask, stop);
    if (!operation) return operation;
    operations.push_back(*std::move(operation));
  }
  return JoinOperations(operations);
}

Result<Operation> SlicedProvider::DeleteNode(const NodeName& name, const std::string& request_id,
                                             std::stop_token stop) {
  if (name.slices < 2) return provider_.DeleteNode(name, request_id, std::move(stop));
  auto slices = GetSlices(name, stop);
  if (!slices) return slices.error();
  std::vector<Operation> operations;
  for (const auto& [slice, node] : *slices) {
    auto operation = provider_.DeleteNode(SliceName(name, slice), {}, stop);
    if (operation) {
      operations.push_back(*std::move(operation));
    } else if (operation.error().code != ErrorCode::kNotFound) {
      return operation;
    }
  }
  if (operations.empty()) return NotFound(name);
  return JoinOperations(operations);
}

Result<Operation> SlicedProvider::GetOperation(const std::string& operation, std::stop_token stop) {
  if (operation.find(' ') == std::string::npos) {
    return provider_.GetOperation(operation, std::move(stop));
  }
  std::vector<Operation> operations;
  for (const std::string_view name : Split(operation, " ")) {
    auto one = provider_.GetOperation(std::string(name), stop);
    if (!one) return one;
    operations.push_back(*std::move(one));
  }
  return JoinOperations(operations);
}

Result<std::vector<Operation>> SlicedProvider::ListOperations(const std::string& project,
                                                              const std::string& zone,
                                                              std::stop_token stop) {
  return provider_.ListOperations(project, zone, std::move(stop));
}

Result<std::vector<WorkerAttributes>> SlicedProvider::GetGuestAttributes(
    const NodeName& name, const std::string& query_path, std::stop_token stop) {
  if (name.slices < 2) return provider_.GetGuestAttributes(name, query_path, std::move(stop));
  // All slices have as many workers; one that is not there, or keeps quiet, moves nobody's number.
  std::vector<std::vector<WorkerAttributes>> slices;
  std::size_t per_slice = 0;
  int missing = 0;
  for (int slice = 0; slice < name.slices; ++slice) {
    auto of_slice = provider_.GetGuestAttributes(SliceName(name, slice), query_path, stop);
    const bool lacks = !of_slice && of_slice.error().code == ErrorCode::kNotFound;
    if (!of_slice && (!lacks || name.slices == ++missing)) return of_slice;
    slices.push_back(of_slice ? *std::move(of_slice) : std::vector<WorkerAttributes>());
    per_slice = std::max(per_slice, slices.back().size());
  }
  std::vector<WorkerAttributes> workers;
  for (auto& slice : slices) {
    slice.resize(per_slice);
    std::move(slice.begin(), slice.end(), std::back_inserter(workers));
  }
  return workers;
}

}  // namespace podctl
