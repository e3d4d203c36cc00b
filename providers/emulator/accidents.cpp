// The fifth part of service.h: what Google, chance, or somebody who rehearses does to nodes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/emulator/service.h"

namespace podctl::emulator {
namespace {

constexpr std::int64_t kMaintenanceMs = 3'600'000;  // as announced; it lasts as long as a reboot

bool IsDead(std::string_view state) {
  return state == "PREEMPTED" || state == "TERMINATED";
}

}  // namespace

void Service::BeginMaintenance(const std::string& name, Node* node, const Value::List& workers) {
  node->resource.Set("health", "UNHEALTHY_MAINTENANCE");
  node->resource.Set("healthDescription", "A maintenance event is going on.");
  Value upcoming;
  upcoming.Set("type", "UNSCHEDULED");
  upcoming.Set("maintenanceStatus", "ONGOING");
  upcoming.Set("windowStartTime", clock_.Timestamp());
  ServiceClock later;
  later.Advance(std::chrono::milliseconds(clock_.skipped_ms() + kMaintenanceMs));
  upcoming.Set("windowEndTime", later.Timestamp());
  node->resource.Set("upcomingMaintenance", std::move(upcoming));
  if (workers.empty()) farm_->PowerOff(node->uid);
  for (const Value& worker : workers) {
    // Without workers there is nothing to stop.
    static_cast<void>(farm_->Act(node->uid, static_cast<int>(worker.AsInt()), "stop"));
  }
  static_cast<void>(SaveNode(name));  // a full disk shows at the next request
}

void Service::EndMaintenance(const std::string& name, Node* node) {
  if (node->resource["state"].AsString() == "READY") node->resource.Set("health", "HEALTHY");
  node->resource.Erase("healthDescription");
  node->resource.Erase("upcomingMaintenance");
  static_cast<void>(SaveNode(name));  // a full disk shows at the next request
}

void Service::LoseNode(const std::string& name, Node* node, std::string_view state) {
  if (Operation* pending = operations_.PendingFor(name);
      pending != nullptr && pending->verb != "delete") {
    operations_.Fail(pending, ApiError{.status = "ABORTED",
                                       .message = fmt::format("'{}' is {}.", name, state),
                                       .details = {}}
                                  .RpcStatus());
  }
  node->resource.Set("state", state);
  node->resource.Erase("health");
  node->resource.Erase("healthDescription");
  node->resource.Erase("networkEndpoints");
  node->holds_room = false;
  farm_->PowerOff(node->uid);
  static_cast<void>(SaveNode(name));  // a full disk shows at the next request
  WakeQueue();
  const auto queued = queue_.find(node->queued);
  if (queued == queue_.end()) return;
  const std::string& queued_state = queued->second.state();
  if (queued_state == "ACTIVE" || queued_state == "PROVISIONING") {
    Suspend(queued->first, &queued->second, "SERVICE");
  }
}

Answer Service::Afflict(const std::string& node_name, const std::string& state,
                        const std::string& health) {
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node_name);
  if (found == nodes_.end()) return NotFound(node_name);
  Node& node = found->second;
  if (IsDead(state)) {
    LoseNode(node_name, &node, state);
  } else if (!state.empty()) {
    node.resource.Set("state", state);
    node.resource.Erase("health");
    if (state != "READY") farm_->PowerOff(node.uid);
  }
  if (!health.empty()) node.resource.Set("health", health);
  static_cast<void>(SaveNode(node_name));  // a full disk shows at the next request
  return node.resource;
}

Answer Service::ActOnWorker(const std::string& node_name, int worker, const std::string& action) {
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node_name);
  if (found == nodes_.end()) return NotFound(node_name);
  if (worker < 0 || worker >= found->second.workers) {
    return BadRequest(fmt::format("The worker id \"{}\" is invalid.", worker));
  }
  if (auto done = farm_->Act(found->second.uid, worker, action); !done) {
    return InvalidArgument(done.error().message);
  }
  return Value::EmptyMap();
}

Answer Service::StrikeNode(const std::string& node_name, std::string_view verb) {
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node_name);
  if (found == nodes_.end()) return NotFound(node_name);
  Node& node = found->second;
  const std::string state = node.resource["state"].AsString();
  if (verb == "preempt" && !IsSpot(node.resource)) {
    return FailedPrecondition(
        fmt::format("'{}' is neither spot nor preemptible; terminate it instead.", node_name));
  }
  if (IsDead(state) || state == "DELETING") {
    return FailedPrecondition(fmt::format("'{}' is {}.", node_name, state));
  }
  if (verb == "preempt" || verb == "terminate") {
    LoseNode(node_name, &node, verb == "preempt" ? "PREEMPTED" : "TERMINATED");
  } else if (state != "READY" && state != "REPAIRING") {
    return FailedPrecondition(fmt::format("'{}' is {}.", node_name, state));
  } else if (verb == "break") {
    node.resource.Set("health", "UNHEALTHY_TENSORFLOW");
    node.resource.Set("healthDescription", "The runtime does not answer.");
  } else if (verb == "maintain") {
    node.resource.Set("health", "UNHEALTHY_MAINTENANCE");
    node.resource.Set("healthDescription", "A maintenance event is going on.");
  } else if (verb == "repair") {
    node.resource.Set("state", "REPAIRING");
    node.resource.Erase("health");
    farm_->PowerOff(node.uid);
  } else if (verb == "heal") {
    node.resource.Set("state", "READY");
    node.resource.Set("health", "HEALTHY");
    node.resource.Erase("healthDescription");
    if (state == "REPAIRING") farm_->Boot(Machines(node));
  } else {
    return InvalidArgument(fmt::format(
        "There is no verb \"{}\"; there are preempt, terminate, break, maintain, repair and heal.",
        verb));
  }
  static_cast<void>(SaveNode(node_name));  // a full disk shows at the next request
  return node.resource;
}

Answer Service::StrikeQueued(const std::string& name, std::string_view verb) {
  std::lock_guard lock(mutex_);
  const auto found = queue_.find(name);
  if (found == queue_.end()) return NotFound(name);
  Queued& queued = found->second;
  const std::string state = queued.state();
  const bool has_nodes = state == "ACTIVE" || state == "PROVISIONING";
  if (verb == "suspend") {
    if (!has_nodes) return FailedPrecondition(fmt::format("'{}' is {}.", name, state));
    Suspend(name, &queued, "SERVICE");
  } else if (verb == "fail") {
    if (!IsWaiting(state)) {
      return FailedPrecondition(
          fmt::format("'{}' is {}; only a request that waits can fail.", name, state));
    }
    Enter(name, &queued, "FAILED", "", NoCapacity(PlaceOf(name).zone).RpcStatus());
  } else {
    return InvalidArgument(
        fmt::format("There is no verb \"{}\"; there are suspend and fail.", verb));
  }
  return queued.request.resource;
}

std::vector<std::string> Service::FindNodes(const std::string& id) {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) {
    if (name == id || IdOf(name) == id) names.push_back(name);
  }
  return names;
}

std::vector<std::string> Service::FindQueued(const std::string& id) {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, queued] : queue_) {
    if (name == id || IdOf(name) == id) names.push_back(name);
  }
  return names;
}

Answer Service::SetCapacity(const std::string& rule) {
  std::lock_guard lock(mutex_);
  if (auto set = limits_.SetCapacity(rule); !set) return InvalidArgument(set.error().message);
  WakeQueue();
  return limits_.ToValue();
}

Value Service::Overview() {
  std::lock_guard lock(mutex_);
  Value overview;
  overview.Set("limits", limits_.ToValue());
  overview.Set("time", clock_.Timestamp());
  Value::List nodes;
  for (const auto& [name, node] : nodes_) {
    Value one;
    one.Set("name", name);
    one.Set("acceleratorType", node.resource["acceleratorType"]);
    one.Set("state", node.resource["state"]);
    one.Set("health", node.resource["health"]);
    nodes.push_back(std::move(one));
  }
  overview.Set("nodes", std::move(nodes));
  Value::List queue;
  for (const auto& [name, queued] : queue_) {
    Value one;
    one.Set("name", name);
    one.Set("state", queued.state());
    one.Set("nodes", static_cast<std::int64_t>(queued.request.types.size()));
    queue.push_back(std::move(one));
  }
  overview.Set("queuedResources", std::move(queue));
  return overview;
}

void Service::Advance(std::chrono::milliseconds by) {
  std::lock_guard lock(mutex_);
  const std::int64_t before = clock_.NowMs();
  clock_.Advance(by);
  Value kept;
  kept.Set("skippedMs", clock_.skipped_ms());
  static_cast<void>(journal_->Put("clock:", kept));  // a full disk shows at the next request
  const std::int64_t now = clock_.NowMs();
  // Machines boot as fast as before, so what waits for them has its whole patience still.
  for (auto& [name, operation] : operations_.all()) {
    if (operation.done) continue;
    operation.due_ms = operation.due_ms <= before ? operation.due_ms + by.count()
                                                  : std::max(operation.due_ms, now);
  }
  changed_.notify_all();
}

}  // namespace podctl::emulator
