#include <fmt/format.h>

#include <algorithm>

#include "tests/support/fake_provider.h"

namespace podctl::testing {
namespace {

Error NoSuchRequest(const std::string& resource) {
  return MakeError(ErrorCode::kNotFound, fmt::format("Resource '{}' was not found", resource));
}

NodeName NameIn(const Value& spec, const std::string& node) {
  // projects/P/locations/Z
  const std::string& parent = spec["parent"].AsString();
  const auto zone = parent.rfind('/');
  return {parent.substr(9, parent.find('/', 9) - 9), parent.substr(zone + 1), node};
}

std::vector<NodeName> NodesOf(const Value& item) {
  std::vector<NodeName> names;
  const Value::List& specs = item["tpu"]["nodeSpec"].AsList();
  if (specs.empty()) return names;  // of Put
  const Value& spec = specs.front();
  const std::int64_t count = spec["multisliceParams"]["nodeCount"].AsInt();
  if (count == 0) return {NameIn(spec, spec["nodeId"].AsString())};
  for (std::int64_t slice = 0; slice < count; ++slice) {
    names.push_back(NameIn(
        spec, fmt::format("{}-{}", spec["multisliceParams"]["nodeIdPrefix"].AsString(), slice)));
  }
  return names;
}

}  // namespace

Operation FakeQueue::Done(const QueuedName& name, const std::string& verb) {
  FakeProvider::Work work;
  work.operation.name = fmt::format("{}/operations/operation-{}", name.Parent(), ++owner_.serial_);
  work.operation.target = name.Resource();
  work.operation.verb = verb;
  Operation answer = work.operation;
  work.operation.done = true;  // at the first look
  owner_.works_[answer.name] = std::move(work);
  return answer;
}

Result<std::vector<Value>> FakeQueue::List(const std::string& project, const std::string& zone,
                                           std::stop_token stop) {
  std::lock_guard lock(owner_.mutex_);
  const std::string parent = NodeName{project, zone, {}}.Parent();
  if (auto error = owner_.Enter({"queue list", parent, {}, {}}, stop)) return *std::move(error);
  std::vector<Value> found;
  for (const auto& [resource, item] : items_) {
    if (FakeProvider::IsBelow(resource, project, zone)) found.push_back(item);
  }
  return found;
}

Result<Value> FakeQueue::Get(const QueuedName& name, std::stop_token stop) {
  std::lock_guard lock(owner_.mutex_);
  if (auto error = owner_.Enter({"queue get", name.Resource(), {}, {}}, stop)) {
    return *std::move(error);
  }
  Advance(name.Resource());
  const auto item = items_.find(name.Resource());
  if (item == items_.end()) return NoSuchRequest(name.Resource());
  return item->second;
}

Result<Operation> FakeQueue::Create(const QueuedName& name, const Value& body,
                                    const std::string& request_id, std::stop_token stop) {
  std::lock_guard lock(owner_.mutex_);
  if (auto error = owner_.Enter({"queue create", name.Resource(), body, {request_id}}, stop)) {
    return *std::move(error);
  }
  const auto known = by_request_id_.find(request_id);
  if (known != by_request_id_.end()) return owner_.Answer("queue create", known->second);
  if (items_.contains(name.Resource())) {
    return MakeError(ErrorCode::kAlreadyExists,
                     fmt::format("Resource '{}' already exists", name.Resource()));
  }
  Value item = body;
  item.Set("name", name.Resource());
  item.SetPath("state.state", "CREATING");
  items_[name.Resource()] = std::move(item);
  return owner_.Answer("queue create", by_request_id_[request_id] = Done(name, "create"));
}

Result<Operation> FakeQueue::Delete(const QueuedName& name, bool force,
                                    const std::string& request_id, std::stop_token stop) {
  std::lock_guard lock(owner_.mutex_);
  FakeProvider::Call call{"queue delete", name.Resource(), {}, {request_id}};
  if (force) call.mask.emplace_back("force");
  if (auto error = owner_.Enter(call, stop)) return *std::move(error);
  const auto item = items_.find(name.Resource());
  if (item == items_.end()) return NoSuchRequest(name.Resource());
  const std::string state = item->second["state"]["state"].AsString();
  const bool idle = state == "ACCEPTED" || state == "WAITING_FOR_RESOURCES" || state == "FAILED" ||
                    state == "SUSPENDED";
  if (state == "SUSPENDING" || (!force && !idle)) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("cannot delete a queued resource that is {}", state));
  }
  if (deletes_to_drop > 0) {
    --deletes_to_drop;
  } else {
    item->second.SetPath("state.state", "DELETING");
  }
  return owner_.Answer("queue delete", Done(name, "delete"));
}

void FakeQueue::Advance(const std::string& resource) {
  const auto found = items_.find(resource);
  if (found == items_.end()) return;
  Value& item = found->second;
  const std::string state = item["state"]["state"].AsString();
  const auto become = [&](const char* next) { item.SetPath("state.state", next); };
  if (state == "CREATING") {
    become("WAITING_FOR_RESOURCES");
  } else if (state == "WAITING_FOR_RESOURCES" && capacity) {
    become("PROVISIONING");
  } else if (state == "PROVISIONING") {
    become("ACTIVE");
    MakeNodes(resource, item);
  } else if (state == "SUSPENDING") {
    become("SUSPENDED");
    RemoveNodes(item);
  } else if (state == "DELETING") {
    RemoveNodes(item);
    items_.erase(found);
  }
}

void FakeQueue::MakeNodes(const std::string& resource, const Value& item) {
  const std::vector<NodeName> names = NodesOf(item);
  for (const NodeName& name : names) {
    Value node = item["tpu"]["nodeSpec"].AsList().front()["node"];
    node.Set("queuedResource", resource);
    if (names.size() > 1) node.Set("multisliceNode", true);
    owner_.PutNode(name, std::move(node));
  }
}

void FakeQueue::RemoveNodes(const Value& item) {
  for (const NodeName& name : NodesOf(item)) {
    const auto node = owner_.Node(name);
    // What else has the name is not its own.
    if (node && (*node)["queuedResource"] == item["name"]) owner_.RemoveNode(name);
  }
}

void FakeQueue::Put(const QueuedName& name, const std::string& state, const std::string& why) {
  std::lock_guard lock(owner_.mutex_);
  Value& item = items_[name.Resource()];
  item.Set("name", name.Resource());
  item.SetPath("state.state", state);
  if (!why.empty()) item.SetPath("state.failedData.error.message", why);
  if (state == "SUSPENDED") RemoveNodes(item);
}

std::string FakeQueue::StateOf(const QueuedName& name) const {
  std::lock_guard lock(owner_.mutex_);
  const auto item = items_.find(name.Resource());
  return item == items_.end() ? "" : item->second["state"]["state"].AsString();
}

}  // namespace podctl::testing
