// The sixth part of service.h: the life of queued resources, from the queue to their last node.
//
// A request is looked at when something may have changed for it (Poke, WakeQueue) or when a time of
// its own has come (look_ms); what to do follows from its state alone, so a restart needs no more
// than the journal has.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/emulator/service.h"

namespace podctl::emulator {
namespace {

constexpr std::int64_t kLookAgainMs = 20;  // between two looks at machines that still go down

Value TypedQueued(const Value& resource, ApiVersion version) {
  Value response = QueuedView(resource, version);
  response.Set("@type", fmt::format("type.googleapis.com/google.cloud.tpu.{}.QueuedResource",
                                    VersionName(version)));
  return response;
}

// 0 stands for no time at all.
std::int64_t OrNever(std::int64_t time) {
  return time == 0 ? kNever : time;
}

ApiError Expired(const std::string& name) {
  return {.status = "DEADLINE_EXCEEDED",
          .message = fmt::format("The queued resource '{}' could not be provisioned within its "
                                 "queueing policy.",
                                 name),
          .details = {}};
}

}  // namespace

void Service::TakeDown(const std::string& node_name) {
  Node& node = nodes_.at(node_name);
  if (Operation* pending = operations_.PendingFor(node_name);
      pending != nullptr && pending->verb != "delete") {
    operations_.Fail(pending, ApiError{.status = "ABORTED",
                                       .message = fmt::format("'{}' is being deleted.", node_name),
                                       .details = {}}
                                  .RpcStatus());
  }
  const std::string state = node.resource["state"].AsString();
  if (state == "DELETING") return;  // its workers are on their way already
  farm_->Discard(node.uid);
  if (state != "PREEMPTED" && state != "TERMINATED") node.resource.Set("state", "DELETING");
  node.resource.Erase("health");
  static_cast<void>(SaveNode(node_name));  // a full disk shows at the next request
}

void Service::Poke(const std::string& queued_name) {
  const auto found = queue_.find(queued_name);
  if (found == queue_.end()) return;
  found->second.look_ms = 0;
  changed_.notify_all();
}

void Service::WakeQueue() {
  for (auto& [name, queued] : queue_) {
    if (IsWaiting(queued.state())) queued.look_ms = 0;
  }
  changed_.notify_all();
}

void Service::NoteDeletion(const std::string& queued_name) {
  const auto found = queue_.find(queued_name);
  if (found == queue_.end()) return;
  const std::string& state = found->second.state();
  if (state != "ACTIVE" && state != "PROVISIONING") return;
  for (const std::string& node : NodesOf(queued_name, found->second)) {
    if (nodes_.at(node).resource["state"].AsString() != "DELETING") return;
  }
  Suspend(queued_name, &found->second, "USER");
}

void Service::Suspend(const std::string& name, Queued* queued, std::string_view initiator) {
  for (const std::string& node : NodesOf(name, *queued)) TakeDown(node);
  Enter(name, queued, "SUSPENDING", initiator);
}

std::int64_t Service::TendQueue(std::int64_t now) {
  std::vector<std::pair<std::int64_t, std::string>> due;  // first come, first served
  for (const auto& [name, queued] : queue_) {
    if (queued.look_ms <= now) due.emplace_back(queued.arrived_ms, name);
  }
  std::sort(due.begin(), due.end());
  for (const auto& [arrived, name] : due) {
    Queued& queued = queue_.at(name);
    queued.look_ms = kNever;  // what happens meanwhile may set it anew
    const std::int64_t next = Tend(name, &queued, now);
    queued.look_ms = std::min(queued.look_ms, next);
  }
  std::int64_t next = kNever;
  for (const auto& [name, queued] : queue_) next = std::min(next, queued.look_ms);
  return next;
}

std::int64_t Service::Tend(const std::string& name, Queued* queued, std::int64_t now) {
  const std::string state = queued->state();
  if (IsWaiting(state)) return TendWaiting(name, queued, now);
  if (state == "PROVISIONING") return TendProvisioning(name, queued, now);
  if (state == "SUSPENDING") return TendSuspending(name, queued, now);
  if (state == "ACTIVE" && queued->run_until_ms != 0) {
    if (now < queued->run_until_ms) return queued->run_until_ms;
    Suspend(name, queued, "SERVICE");
  }
  return kNever;
}

std::int64_t Service::TendWaiting(const std::string& name, Queued* queued, std::int64_t now) {
  const NewQueued& request = queued->request;
  const std::int64_t end = OrNever(request.not_after_ms);
  if (now >= end) {
    Enter(name, queued, "FAILED", "", Expired(name).RpcStatus());
    return kNever;
  }
  const bool accepted = queued->state() == "ACCEPTED";
  if (accepted && now < queued->since_ms + DelayMs()) {
    return std::min(end, queued->since_ms + DelayMs());
  }
  if (now >= request.not_before_ms && HasRoomFor(PlaceOf(name), *queued)) {
    Provision(name, queued);
    return kNever;
  }
  if (accepted) Enter(name, queued, "WAITING_FOR_RESOURCES");
  queued->look_ms = kNever;
  return now < request.not_before_ms ? std::min(end, request.not_before_ms) : end;
}

void Service::Provision(const std::string& name, Queued* queued) {
  Enter(name, queued, "PROVISIONING");
  const Place place = PlaceOf(name);
  const Value::List specs = queued->request.resource["tpu"]["nodeSpec"].AsList();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string& id = specs[i]["nodeId"].AsString();
    const std::string node_name = fmt::format("{}/nodes/{}", place.Parent(), id);
    NewNodeAnswer made = MakeNode(place, id, QueuedNodeBody(queued->request, i), queued->version,
                                  clock_.Timestamp());
    Refusal refusal;
    if (nodes_.count(node_name) != 0) {
      refusal = AlreadyExists(node_name);
    } else if (auto* refused = std::get_if<ApiError>(&made)) {
      refusal = std::move(*refused);
    } else {
      NewNode& fresh = std::get<NewNode>(made);
      fresh.resource.Set("queuedResource", name);
      if (queued->request.is_multislice) fresh.resource.Set("multisliceNode", true);
      const auto room =
          FindRoom(place.zone, queued->request.types[i], queued->request.reservation, 1);
      Node node;
      node.holds_room = true;
      node.reservation = room.value_or("");
      node.queued = name;
      refusal = AddNode(node_name, std::move(fresh), std::move(node));
    }
    if (refusal) {
      queued->failure = refusal->RpcStatus();
      return;
    }
    if (settings_.worker_boot_delay.count() == 0) farm_->Boot(Machines(nodes_.at(node_name)));
    CallContext context;
    context.version = queued->version;
    Begin(place, "create", node_name, Value(), context);
  }
}

std::int64_t Service::TendProvisioning(const std::string& name, Queued* queued, std::int64_t) {
  const std::vector<std::string> nodes = NodesOf(name, *queued);
  if (!queued->failure.is_null()) {
    for (const std::string& node : nodes) {
      TakeDown(node);
      EraseNode(node);
    }
    Enter(name, queued, "FAILED", "", queued->failure);
    return kNever;
  }
  for (const std::string& node : nodes) {
    const std::string& state = nodes_.at(node).resource["state"].AsString();
    if (state != "READY" && state != "DELETING") return kNever;  // its operation will tell
  }
  Enter(name, queued, "ACTIVE");
  if (queued->request.run_ms != 0) {
    queued->run_until_ms = queued->since_ms + queued->request.run_ms;
    static_cast<void>(SaveQueued(name));  // a full disk shows at the next request
  }
  return OrNever(queued->run_until_ms);
}

std::int64_t Service::TendSuspending(const std::string& name, Queued* queued, std::int64_t now) {
  if (now < queued->since_ms + DelayMs()) return queued->since_ms + DelayMs();
  bool gone = true;
  for (const std::string& node : NodesOf(name, *queued)) {
    // A deletion that the user began ends by itself.
    if (operations_.PendingFor(node) != nullptr ||
        farm_->ConditionOf(nodes_.at(node).uid) == Condition::kBooting) {
      gone = false;
    } else {
      EraseNode(node);
    }
  }
  if (!gone) return now + kLookAgainMs;
  const std::string initiator = queued->request.resource["state"]["stateInitiator"].AsString();
  Enter(name, queued, "SUSPENDED", initiator);
  return kNever;
}

bool Service::SettleQueued(Operation* operation) {
  const std::string name = operation->target;
  const auto found = queue_.find(name);
  if (found == queue_.end()) {
    operations_.Fail(operation, NotFound(name).RpcStatus());
    return true;
  }
  Queued& queued = found->second;
  if (operation->verb == "delete") return SettleQueuedDelete(operation, name, &queued);
  if (operation->verb != "create") return SettleQueuedReboot(operation, name, &queued);
  if (operation->failure.is_null()) {
    Enter(name, &queued, "ACCEPTED");
    operations_.Succeed(operation, TypedQueued(queued.request.resource, operation->version));
  } else {
    const Value response = TypedQueued(queued.request.resource, operation->version);
    EraseQueued(name);
    operations_.EndAs(operation, operation->failure, response);
  }
  return true;
}

bool Service::SettleQueuedDelete(Operation* operation, const std::string& name, Queued* queued) {
  if (!operation->failure.is_null()) {
    queued->request.resource.Set("state", operation->payload["state"]);
    queued->look_ms = 0;
    static_cast<void>(SaveQueued(name));  // a full disk shows at the next request
    operations_.EndAs(operation, operation->failure, TypedEmpty());
    return true;
  }
  const std::vector<std::string> nodes = NodesOf(name, *queued);
  for (const std::string& node : nodes) {
    if (farm_->ConditionOf(nodes_.at(node).uid) == Condition::kBooting) return false;
  }
  for (const std::string& node : nodes) EraseNode(node);
  EraseQueued(name);
  operations_.Succeed(operation, TypedEmpty());
  return true;
}

// A reset of all nodes, or the maintenance of those in the payload.
bool Service::SettleQueuedReboot(Operation* operation, const std::string& name, Queued* queued) {
  const bool resets = operation->verb == "reset";
  std::vector<std::string> nodes;
  if (resets) nodes = NodesOf(name, *queued);
  for (const Value& node : operation->payload.AsList()) nodes.push_back(node.AsString());
  Value error = operation->failure;
  if (error.is_null()) {
    std::optional<ApiError> failed;
    bool all = true;
    for (const std::string& node : nodes) {
      const auto found = nodes_.find(node);
      if (found == nodes_.end()) continue;
      if (resets && found->second.resource["state"].AsString() != "RESTARTING") continue;
      all = Rebooted(operation, found->second, {}, &failed) && all;
    }
    if (!all && !failed) return false;
    if (failed) error = failed->RpcStatus();
    for (const std::string& node : nodes) {
      const auto found = nodes_.find(node);
      if (found == nodes_.end()) continue;
      if (resets && found->second.resource["state"].AsString() != "RESTARTING") continue;
      found->second.resource.Set("state", "READY");
      EndMaintenance(node, &found->second);
    }
  }
  operations_.EndAs(operation, std::move(error),
                    TypedQueued(queued->request.resource, operation->version));
  return true;
}

}  // namespace podctl::emulator
