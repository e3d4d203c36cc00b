#include "providers/emulator/service/nodes.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "providers/base/json.h"

namespace podctl::emulator {
namespace {

std::string ReservationOf(const Value& node) {
  const Value& scheduling = node["schedulingConfig"];
  const std::string& name = scheduling["reservationName"].AsString();
  if (!name.empty()) return IdOf(name);
  const bool any = scheduling["reserved"].AsBool() ||
                   scheduling["provisioningModel"].AsString() == "RESERVATION_BOUND";
  return any ? "-" : "";
}

ApiError NotInState(std::string_view verb, std::string_view state) {
  return BadRequest(fmt::format("{} is not supported while in state {}", verb, state));
}

bool IsDead(std::string_view state) {
  return state == "PREEMPTED" || state == "TERMINATED";
}

// One text is enough for nodes that look the same in both versions, as most do.
const std::string& TextOf(Node& node, ApiVersion version) {
  if (node.text.empty()) {
    const Value view = NodeView(node.resource, ApiVersion::kV2);
    node.text = ToJson(view);
    node.alpha_text = view == node.resource ? std::string() : ToJson(node.resource);
  }
  return version == ApiVersion::kV2 || node.alpha_text.empty() ? node.text : node.alpha_text;
}

// An operation that is due, and the node that it is about.
struct Settling {
  Core& core;
  Machines& machines;
  Operation& operation;
  const std::string name;
  Node& node;

  // With the node as it is now.
  bool End(Value error) const {
    core.operations.EndAs(
        &operation, std::move(error),
        Typed(NodeView(node.resource, operation.version), "Node", operation.version));
    return true;
  }
};

bool SettleCreate(const Settling& at) {
  Value error = at.operation.failure;
  const bool boots_later = at.core.settings.worker_boot_delay.count() > 0;
  if (error.is_null() && !boots_later) {
    const auto ready = at.machines.Ready(at.operation, at.node);
    if (!ready) return false;
    error = *ready;
  }
  if (!error.is_null()) {
    at.core.farm->Discard(at.node.uid);
    at.machines.HearFailure(at.node, error);
    at.machines.Erase(at.name);
    at.core.operations.EndAs(&at.operation, std::move(error), TypedEmpty());
    return true;
  }
  at.node.resource.Set("state", "READY");
  at.node.resource.Set("health", "HEALTHY");
  at.machines.ShowEndpoints(&at.node);
  at.machines.Keep(at.name);
  if (boots_later) at.machines.BootAfterDelay(at.name);
  at.machines.Hear(NodeOwner::Event::kChanged, at.node);
  return at.End({});
}

bool SettleDelete(const Settling& at) {
  if (!at.operation.failure.is_null()) {
    at.node.resource.Set("state", at.operation.payload["state"]);
    at.machines.Keep(at.name);
    at.core.operations.EndAs(&at.operation, at.operation.failure, TypedEmpty());
    return true;
  }
  // NoWorkers is always up; a real farm must have buried every process first.
  if (at.core.farm->ConditionOf(at.node.uid) == Condition::kBooting) return false;
  at.machines.Erase(at.name);
  at.core.operations.Succeed(&at.operation, TypedEmpty());
  return true;
}

bool SettleUpdate(const Settling& at) {
  if (!at.operation.failure.is_null()) return at.End(at.operation.failure);
  const std::string& state = at.node.state();
  if (state != "READY") {
    at.core.operations.Fail(&at.operation, NotInState("update", state).RpcStatus());
    return true;
  }
  Update update;
  for (const Value& field : at.operation.payload.AsList()) {
    update.fields.emplace_back(field["path"].AsString(), field["value"]);
  }
  ApplyUpdate(update, &at.node.resource);
  at.machines.ShowEndpoints(&at.node);
  at.machines.Keep(at.name);
  at.machines.Tell(at.node);
  return at.End({});
}

bool SettlePower(const Settling& at) {
  const bool on = at.operation.verb == "start";
  Value error = at.operation.failure;
  if (error.is_null() && on) {
    const auto ready = at.machines.Ready(at.operation, at.node);
    if (!ready) return false;
    error = *ready;
  } else if (error.is_null() && at.core.farm->ConditionOf(at.node.uid) == Condition::kBooting) {
    return false;
  }
  const bool running = error.is_null() == on;
  at.node.resource.Set("state", running ? "READY" : "STOPPED");
  if (running) at.node.resource.Set("health", "HEALTHY");
  at.node.holds_capacity = running;
  at.machines.Keep(at.name);
  if (!running) at.machines.Hear(NodeOwner::Event::kCapacity, at.node);
  return at.End(std::move(error));
}

bool SettleMaintenance(const Settling& at) {
  if (!at.operation.failure.is_null()) return at.End(at.operation.failure);
  auto error = at.machines.Rebooted(at.operation, at.node, at.operation.payload.AsList());
  if (!error) return false;
  at.machines.EndMaintenance(at.name);
  return at.End(*std::move(error));
}

}  // namespace

void Nodes::Restore(const std::string& name, const Value& record) {
  machines_->Restore(name, record);
}

std::vector<std::string> Nodes::NamesOf(const std::string& id) const {
  return machines_->NamesOf(id);
}

bool Nodes::Settle(Operation* operation) {
  const std::string name = operation->target;
  Node* const node = machines_->Find(name);
  if (node == nullptr) {
    if (operation->verb == "delete") {
      core_->operations.Succeed(operation, TypedEmpty());  // its queued resource took it along
    } else {
      core_->operations.Fail(operation, NotFound(name).RpcStatus());
    }
    return true;
  }
  const Settling settling{*core_, *machines_, *operation, name, *node};
  if (operation->verb == "create") return SettleCreate(settling);
  if (operation->verb == "delete") return SettleDelete(settling);
  if (operation->verb == "update") return SettleUpdate(settling);
  if (operation->verb == "maintain") return SettleMaintenance(settling);
  return SettlePower(settling);
}

void Nodes::Withdraw(const std::string& name) {
  if (const Node* node = machines_->Find(name)) core_->farm->Discard(node->uid);
  machines_->Erase(name);
}

Value::List Nodes::Overview() const {
  Value::List list;
  for (const auto& [name, node] : std::as_const(*machines_).rows()) {
    list.push_back(Value::Map{{"name", name},
                              {"acceleratorType", node.resource["acceleratorType"]},
                              {"state", node.resource["state"]},
                              {"health", node.resource["health"]}});
  }
  return list;
}

int Nodes::Used(const Pool& pool) const {
  int used = 0;
  for (const auto& [name, node] : std::as_const(*machines_).rows()) {
    if (node.holds_capacity && node.reservation == pool.reservation &&
        node.resource["acceleratorType"].AsString() == pool.type &&
        PlaceOf(name).zone == pool.zone) {
      ++used;
    }
  }
  return used;
}

int Nodes::Held(const QuotaUse& use) const {
  int held = 0;
  for (const auto& [name, node] : std::as_const(*machines_).rows()) {
    const std::string& type = node.resource["acceleratorType"].AsString();
    // What a queued resource brought is counted with it, as long as that is there.
    if (node.owner().empty() && use.IsOf(PlaceOf(name), type, IsSpot(node.resource))) {
      held += AmountOf(type);
    }
  }
  return held;
}

Answer Nodes::List(const Call& call) {
  std::string text = "{";
  std::string last;
  bool is_full = false;
  int count = 0;
  EachOfPage(machines_->rows(), call.Prefix(), call.page, [&](const auto& name, Node& node) {
    is_full = count == PageLimit(call.page);
    if (is_full) return false;
    text += count++ == 0 ? "\"nodes\":[" : ",";
    text += TextOf(node, call.version);
    last = name;
    return true;
  });
  if (is_full) {
    return JsonText{fmt::format("{}],\"nextPageToken\":\"{}\"}}", text, MakePageToken(last))};
  }
  return JsonText{text + (count == 0 ? "}" : "]}")};
}

Answer Nodes::Get(const Call& call) {
  Node* node = machines_->Find(call.Target());
  if (node == nullptr) return NotFound(call.Target());
  return JsonText{TextOf(*node, call.version)};
}

Answer Nodes::Create(const Call& call) {
  NewNodeAnswer made =
      MakeNode(call.place, call.id, call.body, call.version, core_->clock.Timestamp());
  if (auto* refusal = std::get_if<ApiError>(&made)) return std::move(*refusal);
  Node& node = std::get<Node>(made);
  const std::string name = call.Target();
  const std::string type = node.resource["acceleratorType"].AsString();
  const std::string reservation = ReservationOf(node.resource);
  if (auto known = core_->operations.Replay(call, name)) return *std::move(known);
  if (machines_->Find(name) != nullptr) return AlreadyExists(name);
  if (auto refusal =
          core_->capacity.Admit(call.place, {type}, IsSpot(node.resource), reservation)) {
    return *std::move(refusal);
  }
  Call outcome = call;
  if (outcome.failure.is_null()) {
    const auto source = core_->capacity.Find(call.place.zone, type, reservation);
    node.holds_capacity = source.has_value();
    node.reservation = source.value_or("");
    if (!source) {
      outcome.failure =
          (reservation.empty() ? NoCapacity(call.place.zone) : NoReservedCapacity()).RpcStatus();
    }
  }
  if (auto refusal = machines_->Add(name, std::move(node))) return *std::move(refusal);
  if (outcome.failure.is_null() && core_->settings.worker_boot_delay.count() == 0) {
    machines_->Boot(*machines_->Find(name));
  }
  return core_->operations.Begin(outcome, "create", name);
}

Answer Nodes::Patch(const Call& call) {
  const std::string name = call.Target();
  const Node* node = machines_->Find(name);
  if (node == nullptr) return NotFound(name);
  UpdateAnswer update = MakeUpdate(call.mask, call.body, node->workers);
  if (auto* refusal = std::get_if<ApiError>(&update)) return std::move(*refusal);
  if (node->state() != "READY") return NotInState("update", node->state());
  if (core_->operations.PendingFor(name) != nullptr) {
    return MakeStatus("ABORTED", "unable to queue the operation");
  }
  Value::List fields;
  for (const auto& [path, value] : std::get<Update>(update).fields) {
    fields.push_back(Value::Map{{"path", path}, {"value", value}});
  }
  return core_->operations.Begin(call, "update", name, std::move(fields));
}

Answer Nodes::Delete(const Call& call) {
  const std::string name = call.Target();
  if (auto known = core_->operations.Replay(call, name)) return *std::move(known);
  Node* const node = machines_->Find(name);
  if (node == nullptr) return NotFound(name);
  const std::string state = node->state();
  if (state == "DELETING") return NotInState("delete", state);
  core_->operations.Abort(name, "being deleted", true);
  if (call.failure.is_null()) core_->farm->Discard(node->uid);
  node->resource.Set("state", "DELETING");
  node->resource.Erase("health");
  machines_->Keep(name);
  if (call.failure.is_null()) machines_->Hear(NodeOwner::Event::kDeleted, *node);
  // The state: to go back to when the delete is told to fail.
  return core_->operations.Begin(call, "delete", name, Value::Map{{"state", state}});
}

Answer Nodes::Power(const Call& call, bool on) {
  const std::string_view verb = on ? "start" : "stop";
  const std::string name = call.Target();
  Node* const node = machines_->Find(name);
  if (node == nullptr) return NotFound(name);
  if (node->workers > 1) {
    return BadRequest(
        fmt::format("{} is not supported for this node: this operation is only available with "
                    "single TPU nodes.",
                    verb));
  }
  const std::string state = node->state();
  if (state != (on ? "STOPPED" : "READY") || core_->operations.PendingFor(name) != nullptr) {
    return NotInState(verb, state);
  }
  Call outcome = call;
  if (on && outcome.failure.is_null()) {
    node->holds_capacity =
        core_->capacity
            .Find(call.place.zone, node->resource["acceleratorType"].AsString(), node->reservation)
            .has_value();
    if (!node->holds_capacity) outcome.failure = NoCapacity(call.place.zone).RpcStatus();
  }
  const bool boots = on && outcome.failure.is_null();
  if (boots) {
    if (auto renewed = machines_->RenewAddresses(name, {}); !renewed) {
      return MakeStatus("RESOURCE_EXHAUSTED", renewed.error().message);
    }
  }
  node->resource.Set("state", on ? "STARTING" : "STOPPING");
  node->resource.Erase("health");
  machines_->Keep(name);
  if (boots) {
    machines_->Boot(*node);
  } else if (!on && outcome.failure.is_null()) {
    core_->farm->PowerOff(node->uid);
  }
  return core_->operations.Begin(outcome, verb, name);
}

Answer Nodes::SimulateMaintenance(const Call& call) {
  // Only the first worker is struck (its documentation).
  const Value::List& named = call.body["workerIds"].AsList();
  return Maintain(call, {named.empty() ? Value("0") : named.front()});
}

Answer Nodes::Maintain(const Call& call, Value::List workers) {
  const std::string name = call.Target();
  const Node* node = machines_->Find(name);
  if (node == nullptr) return NotFound(name);
  for (const Value& worker : workers) {
    if (worker.AsInt(-1) < 0 || worker.AsInt(-1) >= node->workers) {
      return BadRequest(fmt::format("The worker id \"{}\" is invalid.", worker.AsString()));
    }
  }
  if (node->state() != "READY" || core_->operations.PendingFor(name) != nullptr) {
    return NotInState("maintenance", node->state());
  }
  if (call.failure.is_null()) machines_->BeginMaintenance(name, workers);
  return core_->operations.Begin(call, "maintain", name, Value(std::move(workers)));
}

Answer Nodes::GuestAttributes(const Call& call) {
  const Node* found = machines_->Find(call.Target());
  if (found == nullptr) return NotFound(call.Target());
  const Node& node = *found;
  std::set<int> wanted;
  for (const Value& id : call.body["workerIds"].AsList()) {
    const std::string& text = id.AsString();
    if (text.empty()) continue;  // gcloud sends one empty id for "all"
    int number = -1;
    if (!ReadNumber(text, &number) || number < 0 || number >= node.workers) {
      return BadRequest(fmt::format("The worker id \"{}\" is invalid.", text));
    }
    wanted.insert(number);
  }
  const std::string& query = call.body["queryPath"].AsString();
  const std::string path = query.starts_with('/') ? query.substr(1) : query;
  Value::List answers;
  for (int i = 0; i < node.workers; ++i) {
    if (!wanted.empty() && !wanted.contains(i)) continue;
    Value::List items;
    const auto add = [&](std::string_view space, const std::string& key, std::string value) {
      const std::string full = fmt::format("{}/{}", space, key);
      const bool below = path.empty() || full.starts_with(path.back() == '/' ? path : path + "/");
      if (full != path && !below) return;
      items.push_back(Value::Map{{"namespace", space}, {"key", key}, {"value", std::move(value)}});
    };
    for (const auto& [type, key] : core_->farm->HostKeys(node.uid, i)) add("hostkeys", type, key);
    add("guestInventory", "hostname", fmt::format("{}-w-{}", node.host, i));
    answers.push_back(
        Value::Map{{"queryPath", query}, {"queryValue", Value::Map{{"items", std::move(items)}}}});
  }
  return Value::Map{{"guestAttributes", std::move(answers)}};
}

Answer Nodes::Afflict(const std::string& name, const std::string& state,
                      const std::string& health) {
  Node* const node = machines_->Find(name);
  if (node == nullptr) return NotFound(name);
  if (IsDead(state)) {
    machines_->Lose(name, state);
  } else if (!state.empty()) {
    node->resource.Set("state", state);
    node->resource.Erase("health");
    if (state != "READY") core_->farm->PowerOff(node->uid);
  }
  if (!health.empty()) node->resource.Set("health", health);
  machines_->Keep(name);
  return node->resource;
}

Answer Nodes::ActOnWorker(const std::string& name, int worker, const std::string& action) {
  const Node* node = machines_->Find(name);
  if (node == nullptr) return NotFound(name);
  if (worker < 0 || worker >= node->workers) {
    return BadRequest(fmt::format("The worker id \"{}\" is invalid.", worker));
  }
  if (auto done = core_->farm->Act(node->uid, worker, action); !done) {
    return InvalidArgument(done.error().message);
  }
  return Value::EmptyMap();
}

Answer Nodes::Incident(const std::string& name, std::string_view verb) {
  Node* const node = machines_->Find(name);
  if (node == nullptr) return NotFound(name);
  const std::string state = node->state();
  const auto sick = [&](const char* health, const char* description) {
    node->resource.Set("health", health);
    node->resource.Set("healthDescription", description);
  };
  if (verb == "preempt" && !IsSpot(node->resource)) {
    return FailedPrecondition(
        fmt::format("'{}' is neither spot nor preemptible; terminate it instead.", name));
  }
  const bool lost = verb == "preempt" || verb == "terminate";
  if (IsDead(state) || state == "DELETING" || (!lost && state != "READY" && state != "REPAIRING")) {
    return FailedPrecondition(fmt::format("'{}' is {}.", name, state));
  }
  if (lost) {
    machines_->Lose(name, verb == "preempt" ? "PREEMPTED" : "TERMINATED");
  } else if (verb == "break") {
    sick("UNHEALTHY_TENSORFLOW", "The runtime does not answer.");
  } else if (verb == "maintain") {
    sick("UNHEALTHY_MAINTENANCE", "A maintenance event is going on.");
  } else if (verb == "repair") {
    node->resource.Set("state", "REPAIRING");
    node->resource.Erase("health");
    core_->farm->PowerOff(node->uid);
  } else if (verb == "heal") {
    node->resource.Set("state", "READY");
    node->resource.Set("health", "HEALTHY");
    node->resource.Erase("healthDescription");
    if (state == "REPAIRING") machines_->Boot(*node);
  } else {
    return InvalidArgument(fmt::format(
        "There is no verb \"{}\"; there are preempt, terminate, break, maintain, repair and heal.",
        verb));
  }
  machines_->Keep(name);
  return node->resource;
}

}  // namespace podctl::emulator
