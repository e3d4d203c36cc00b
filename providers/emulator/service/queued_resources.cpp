#include "providers/emulator/service/queued_resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace podctl::emulator {
namespace {

Value TypedQueued(const Queued& queued, ApiVersion version) {
  return Typed(QueuedView(queued.resource, version), "QueuedResource", version);
}

ApiError NotWhile(const std::string& name, std::string_view what, std::string_view state) {
  return FailedPrecondition(
      fmt::format("The queued resource '{}' cannot be {} while it is {}.", name, what, state));
}

}  // namespace

void QueuedResources::Restore(const std::string& name, const Value& record) {
  queue_->table().Restore(name, record);
}

std::vector<std::string> QueuedResources::NamesOf(const std::string& id) const {
  return queue_->table().NamesOf(id);
}

Value::List QueuedResources::Overview() const {
  Value::List list;
  for (const auto& [name, queued] : queue_->table().rows()) {
    list.push_back(Value::Map{{"name", name},
                              {"state", queued.state()},
                              {"nodes", static_cast<std::int64_t>(queued.types.size())}});
  }
  return list;
}

int QueuedResources::Held(const QuotaUse& use) const {
  int held = 0;
  for (const auto& [name, queued] : queue_->table().rows()) {
    for (const std::string& type : queued.types) {
      if (use.IsOf(PlaceOf(name), type, queued.is_spot)) held += AmountOf(type);
    }
  }
  return held;
}

Refusal QueuedResources::NameIsTaken(const Queued& request) const {
  const std::string& name = request.resource["name"].AsString();
  if (queue_->table().Find(name) != nullptr) return AlreadyExists(name);
  std::set<std::string> wanted;
  for (const std::string& node : request.NodeNames()) {
    if (machines_->Find(node) != nullptr || !wanted.insert(node).second) return AlreadyExists(node);
  }
  for (const auto& [other, queued] : queue_->table().rows()) {
    for (const std::string& node : queued.NodeNames()) {
      if (wanted.contains(node)) return AlreadyExists(node);
    }
  }
  return std::nullopt;
}

Answer QueuedResources::Create(const Call& call) {
  const std::string name = call.Target();
  if (auto known = core_->operations.Replay(call, name)) return *std::move(known);
  NewQueuedAnswer made = MakeQueued(call.place, call.id, call.body, call.version,
                                    core_->clock.NowMs(), core_->clock.Timestamp());
  if (auto* refusal = std::get_if<ApiError>(&made)) return std::move(*refusal);
  Queued& queued = std::get<Queued>(made);
  if (auto refusal = NameIsTaken(queued)) return *std::move(refusal);
  if (auto refusal =
          core_->capacity.Admit(call.place, queued.types, queued.is_spot, queued.reservation)) {
    return *std::move(refusal);
  }
  queued.look_ms = kNever;  // until its operation ends
  if (auto written = queue_->table().Put(name, std::move(queued)); !written) {
    return Unavailable(written.error().message);
  }
  return core_->operations.Begin(call, "create", name);
}

Answer QueuedResources::Get(const Call& call) const {
  const Queued* queued = queue_->table().Find(call.Target());
  if (queued == nullptr) return NotFound(call.Target());
  return QueuedView(queued->resource, call.version);
}

Answer QueuedResources::List(const Call& call) const {
  Page page("queuedResources", call.page);
  EachOfPage(queue_->table().rows(), call.Prefix(), call.page,
             [&](const auto& name, const auto& queued) {
               return page.Add(name, QueuedView(queued.resource, call.version));
             });
  return page.Take();
}

Answer QueuedResources::MaintenanceInfo(const Call& call) {
  const std::string name = call.Target();
  if (queue_->table().Find(name) == nullptr) return NotFound(name);
  Value::List listed;
  for (const std::string& node_name : queue_->NodesOf(name)) {
    const Node& node = *machines_->Find(node_name);
    const Value* const upcoming = node.resource.Find("upcomingMaintenance");
    if (upcoming == nullptr) continue;
    listed.push_back(Value::Map{{"nodeName", IdOf(node_name)},
                                {"nodeUid", node.resource["id"]},
                                {"upcomingMaintenance", *upcoming}});
  }
  Value answer = Value::EmptyMap();
  if (!listed.empty()) answer.Set("nodeUpcomingMaintenances", std::move(listed));
  return answer;
}

Answer QueuedResources::Delete(const Call& call) {
  const std::string name = call.Target();
  if (auto known = core_->operations.Replay(call, name)) return *std::move(known);
  const Queued* queued = queue_->table().Find(name);
  if (queued == nullptr) return NotFound(name);
  const std::string state = queued->state();
  const std::vector<std::string> nodes = queue_->NodesOf(name);
  const bool done_for = IsWaiting(state) || state == "FAILED" || state == "SUSPENDED";
  const bool nodes_are_gone = nodes.empty() && state != "CREATING";
  if (state == "SUSPENDING" || state == "DELETING") return NotWhile(name, "deleted", state);
  if (!call.force && !done_for && !nodes_are_gone) {
    return FailedPrecondition(
        fmt::format("The queued resource '{}' is {}: it can be deleted when its nodes have been "
                    "deleted, or with force.",
                    name, state));
  }
  // Should the delete be told to fail.
  Value payload = Value::Map{{"state", queued->resource["state"]}};
  if (call.failure.is_null()) {
    core_->operations.Abort(name, "being deleted", true);
    for (const std::string& node : nodes) machines_->TakeDown(node);
  }
  queue_->Enter(name, "DELETING");
  return core_->operations.Begin(call, "delete", name, std::move(payload));
}

Answer QueuedResources::Reset(const Call& call) {
  const std::string name = call.Target();
  const Queued* queued = queue_->table().Find(name);
  if (queued == nullptr) return NotFound(name);
  if (queued->state() != "ACTIVE" || core_->operations.PendingFor(name) != nullptr) {
    return NotWhile(name, "reset", queued->state());
  }
  for (const std::string& node_name : queue_->NodesOf(name)) {
    Node& node = *machines_->Find(node_name);
    if (!call.failure.is_null() || node.state() != "READY") continue;
    node.resource.Set("state", "RESTARTING");
    node.resource.Erase("health");
    core_->farm->PowerOff(node.uid);
    machines_->Keep(node_name);
  }
  return core_->operations.Begin(call, "reset", name);
}

Answer QueuedResources::PerformMaintenance(const Call& call) {
  const std::string name = call.Target();
  const Queued* queued = queue_->table().Find(name);
  if (queued == nullptr) return NotFound(name);
  const std::vector<std::string> own = queue_->NodesOf(name);
  Value::List chosen;
  for (const Value& given : call.body["nodeNames"].AsList()) {
    const std::string node = call.place.Name("nodes", IdOf(given.AsString()));
    if (std::find(own.begin(), own.end(), node) == own.end()) return NotFound(node);
    chosen.emplace_back(node);
  }
  if (queued->state() != "ACTIVE" || core_->operations.PendingFor(name) != nullptr) {
    return NotWhile(name, "maintained", queued->state());
  }
  for (const Value& node : chosen) {
    if (call.failure.is_null()) machines_->BeginMaintenance(node.AsString(), {});
  }
  return core_->operations.Begin(call, "maintain", name, std::move(chosen));
}

Answer QueuedResources::Incident(const std::string& name, std::string_view verb) {
  const Queued* queued = queue_->table().Find(name);
  if (queued == nullptr) return NotFound(name);
  const std::string state = queued->state();
  if (verb == "suspend") {
    if (state != "ACTIVE" && state != "PROVISIONING") {
      return FailedPrecondition(fmt::format("'{}' is {}.", name, state));
    }
    queue_->Suspend(name, "SERVICE");
  } else if (verb == "fail") {
    if (!IsWaiting(state)) {
      return FailedPrecondition(
          fmt::format("'{}' is {}; only a request that waits can fail.", name, state));
    }
    queue_->Enter(name, "FAILED", "", NoCapacity(PlaceOf(name).zone).RpcStatus());
  } else {
    return InvalidArgument(
        fmt::format("There is no verb \"{}\"; there are suspend and fail.", verb));
  }
  return queued->resource;
}

bool QueuedResources::Settle(Operation* operation) {
  const std::string name = operation->target;
  const Queued* queued = queue_->table().Find(name);
  if (queued == nullptr) {
    core_->operations.Fail(operation, NotFound(name).RpcStatus());
    return true;
  }
  if (operation->verb == "delete") return SettleDelete(operation, name);
  if (operation->verb != "create") return SettleReboot(operation, name);
  if (operation->failure.is_null()) {
    queue_->Enter(name, "ACCEPTED");
    core_->operations.Succeed(operation, TypedQueued(*queued, operation->version));
  } else {
    const Value response = TypedQueued(*queued, operation->version);
    queue_->Erase(name);
    core_->operations.EndAs(operation, operation->failure, response);
  }
  return true;
}

bool QueuedResources::SettleDelete(Operation* operation, const std::string& name) {
  if (!operation->failure.is_null()) {
    Queued& queued = queue_->table().at(name);
    queued.resource.Set("state", operation->payload["state"]);
    queued.look_ms = 0;
    queue_->table().Keep(name);
    core_->operations.EndAs(operation, operation->failure, TypedEmpty());
    return true;
  }
  const std::vector<std::string> nodes = queue_->NodesOf(name);
  for (const std::string& node : nodes) {
    if (core_->farm->ConditionOf(machines_->Find(node)->uid) == Condition::kBooting) return false;
  }
  for (const std::string& node : nodes) machines_->Erase(node);
  queue_->Erase(name);
  core_->operations.Succeed(operation, TypedEmpty());
  return true;
}

// A reset of all nodes, or the maintenance of those in the payload.
bool QueuedResources::SettleReboot(Operation* operation, const std::string& name) {
  const bool resets = operation->verb == "reset";
  std::vector<std::string> nodes;
  if (resets) nodes = queue_->NodesOf(name);
  for (const Value& node : operation->payload.AsList()) nodes.push_back(node.AsString());
  std::erase_if(nodes, [&](const std::string& node) {
    const Node* found = machines_->Find(node);
    return found == nullptr || (resets && found->state() != "RESTARTING");
  });
  Value error = operation->failure;
  if (error.is_null()) {
    bool all = true;
    for (const std::string& node : nodes) {
      const auto outcome = machines_->Rebooted(*operation, *machines_->Find(node), {});
      all = all && outcome.has_value();
      if (outcome && !outcome->is_null()) error = *outcome;
    }
    if (!all && error.is_null()) return false;
    for (const std::string& node : nodes) {
      machines_->Find(node)->resource.Set("state", "READY");
      machines_->EndMaintenance(node);
    }
  }
  core_->operations.EndAs(operation, std::move(error),
                          TypedQueued(queue_->table().at(name), operation->version));
  return true;
}

}  // namespace podctl::emulator
