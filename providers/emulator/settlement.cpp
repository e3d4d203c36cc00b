// The second part of service.h: operations come due, and are looked at.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/service.h"

namespace podctl::emulator {
namespace {

constexpr std::int64_t kRetryMs = 20;           // between two looks at machines that still boot
constexpr std::int64_t kBootLimitMs = 120'000;  // after the due time, then the operation fails

ApiError WorkersFailed(const std::string& why) {
  return {.status = "INTERNAL",
          .message = fmt::format("The workers did not start: {}", why),
          .details = {}};
}

}  // namespace

Value TypedNode(const Value& resource, ApiVersion version) {
  Value response = NodeView(resource, version);
  response.Set("@type",
               fmt::format("type.googleapis.com/google.cloud.tpu.{}.Node", VersionName(version)));
  return response;
}

void Service::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const std::int64_t now = clock_.NowMs();
    std::vector<std::string> again;
    while (!agenda_.empty() && agenda_.begin()->first <= now) {
      const std::string name = agenda_.begin()->second;
      agenda_.erase(agenda_.begin());
      Operation* operation = operations_.Find(name);
      if (operation == nullptr || operation->done) continue;
      if (!Settle(operation)) again.push_back(name);
    }
    for (const std::string& name : again) agenda_.emplace(now + kRetryMs, name);
    while (!boots_.empty() && boots_.begin()->first <= now) {
      const auto node = nodes_.find(boots_.begin()->second);
      if (node != nodes_.end()) farm_->Boot(Machines(node->second));
      boots_.erase(boots_.begin());
    }
    std::int64_t next = std::min(now + 3'600'000, TendQueue(now));
    if (!agenda_.empty()) next = std::min(next, agenda_.begin()->first);
    if (!boots_.empty()) next = std::min(next, boots_.begin()->first);
    changed_.wait_until(lock, std::chrono::system_clock::time_point(
                                  std::chrono::milliseconds(next - clock_.skipped_ms())));
  }
}

bool Service::Settle(Operation* operation) {
  const std::string name = operation->target;
  if (name.find("/queuedResources/") != std::string::npos) return SettleQueued(operation);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) {
    if (operation->verb == "delete") {
      operations_.Succeed(operation, TypedEmpty());  // its queued resource took it along
    } else {
      operations_.Fail(operation, NotFound(name).RpcStatus());
    }
    return true;
  }
  Node& node = found->second;
  if (operation->verb == "create") return SettleCreate(operation, name, &node);
  if (operation->verb == "delete") return SettleDelete(operation, name, &node);
  if (operation->verb == "update") return SettleUpdate(operation, name, &node);
  if (operation->verb == "maintain") return SettleMaintenance(operation, name, &node);
  return SettlePower(operation, name, &node);
}

bool Service::WorkersReady(Operation* operation, const Node& node,
                           std::optional<ApiError>* failed) {
  switch (farm_->ConditionOf(node.uid)) {
    case Condition::kUp:
      return true;
    case Condition::kFailed:
      *failed = WorkersFailed(farm_->FailureOf(node.uid));
      return true;
    case Condition::kOff:
    case Condition::kBooting:
      break;
  }
  if (clock_.NowMs() < operation->due_ms + kBootLimitMs) return false;
  *failed = WorkersFailed("they do not answer");
  return true;
}

bool Service::Rebooted(Operation* operation, const Node& node, const Value::List& workers,
                       std::optional<ApiError>* failed) {
  if (farm_->ConditionOf(node.uid) == Condition::kOff) {
    if (workers.empty()) farm_->Boot(Machines(node));
    for (const Value& worker : workers) {
      static_cast<void>(farm_->Act(node.uid, static_cast<int>(worker.AsInt()), "start"));
    }
    return false;
  }
  return WorkersReady(operation, node, failed);
}

bool Service::SettleCreate(Operation* operation, const std::string& name, Node* node) {
  Value error = operation->failure;
  const bool boots_later = settings_.worker_boot_delay.count() > 0;
  if (error.is_null() && !boots_later) {
    std::optional<ApiError> failed;
    if (!WorkersReady(operation, *node, &failed)) return false;
    if (failed) error = failed->RpcStatus();
  }
  if (!error.is_null()) {
    farm_->Discard(node->uid);
    if (const auto queued = queue_.find(node->queued); queued != queue_.end()) {
      queued->second.failure = error;
    }
    EraseNode(name);
    operations_.EndAs(operation, std::move(error), TypedEmpty());
    return true;
  }
  node->resource.Set("state", "READY");
  node->resource.Set("health", "HEALTHY");
  ShowEndpoints(node);
  static_cast<void>(SaveNode(name));  // a full disk shows at the next request
  if (boots_later) boots_.emplace(clock_.NowMs() + settings_.worker_boot_delay.count(), name);
  if (!node->queued.empty()) Poke(node->queued);
  operations_.Succeed(operation, TypedNode(node->resource, operation->version));
  return true;
}

bool Service::SettleDelete(Operation* operation, const std::string& name, Node* node) {
  if (!operation->failure.is_null()) {
    node->resource.Set("state", operation->payload["state"]);
    static_cast<void>(SaveNode(name));  // a full disk shows at the next request
    operations_.EndAs(operation, operation->failure, TypedEmpty());
    return true;
  }
  // NoWorkers is always up; a real farm must have buried every process first.
  if (farm_->ConditionOf(node->uid) == Condition::kBooting) return false;
  EraseNode(name);
  operations_.Succeed(operation, TypedEmpty());
  return true;
}

bool Service::SettleUpdate(Operation* operation, const std::string& name, Node* node) {
  if (!operation->failure.is_null()) {
    operations_.EndAs(operation, operation->failure, TypedNode(node->resource, operation->version));
    return true;
  }
  const std::string& state = node->resource["state"].AsString();
  if (state != "READY") {
    operations_.Fail(
        operation,
        BadRequest(fmt::format("update is not supported while in state {}", state)).RpcStatus());
    return true;
  }
  Update update;
  for (const Value& field : operation->payload.AsList()) {
    update.fields.emplace_back(field["path"].AsString(), field["value"]);
  }
  ApplyUpdate(update, &node->resource);
  ShowEndpoints(node);
  static_cast<void>(SaveNode(name));  // a full disk shows at the next request
  farm_->SetMetadata(Machines(*node));
  operations_.Succeed(operation, TypedNode(node->resource, operation->version));
  return true;
}

bool Service::SettlePower(Operation* operation, const std::string& name, Node* node) {
  const bool on = operation->verb == "start";
  Value error = operation->failure;
  if (error.is_null() && on) {
    std::optional<ApiError> failed;
    if (!WorkersReady(operation, *node, &failed)) return false;
    if (failed) error = failed->RpcStatus();
  }
  if (!on && error.is_null() && farm_->ConditionOf(node->uid) == Condition::kBooting) return false;
  const bool running = error.is_null() == on;
  node->resource.Set("state", running ? "READY" : "STOPPED");
  if (running) node->resource.Set("health", "HEALTHY");
  node->holds_room = running;
  static_cast<void>(SaveNode(name));  // a full disk shows at the next request
  if (!running) WakeQueue();
  operations_.EndAs(operation, std::move(error), TypedNode(node->resource, operation->version));
  return true;
}

bool Service::SettleMaintenance(Operation* operation, const std::string& name, Node* node) {
  Value error = operation->failure;
  if (error.is_null()) {
    std::optional<ApiError> failed;
    if (!Rebooted(operation, *node, operation->payload.AsList(), &failed)) return false;
    if (failed) error = failed->RpcStatus();
    EndMaintenance(name, node);
  }
  operations_.EndAs(operation, std::move(error), TypedNode(node->resource, operation->version));
  return true;
}

Answer Service::GuestAttributes(const Place& place, const std::string& node_id,
                                const Value& request) {
  const std::string name = fmt::format("{}/nodes/{}", place.Parent(), node_id);
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return NotFound(name);
  const Node& node = found->second;
  std::set<int> wanted;
  for (const Value& id : request["workerIds"].AsList()) {
    const std::string& text = id.AsString();
    if (text.empty()) continue;  // gcloud sends one empty id for "all"
    int number = -1;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size() || number < 0 ||
        number >= node.workers) {
      return BadRequest(fmt::format("The worker id \"{}\" is invalid.", text));
    }
    wanted.insert(number);
  }
  std::string path = request["queryPath"].AsString();
  if (!path.empty() && path[0] == '/') path.erase(0, 1);
  Value::List answers;
  for (int i = 0; i < node.workers; ++i) {
    if (!wanted.empty() && wanted.count(i) == 0) continue;
    Value::List items;
    const auto add = [&](std::string_view space, const std::string& key, std::string value) {
      const std::string full = fmt::format("{}/{}", space, key);
      if (full != path && !path.empty() &&
          full.rfind(path.back() == '/' ? path : path + "/", 0) != 0)
        return;
      Value item;
      item.Set("namespace", space);
      item.Set("key", key);
      item.Set("value", std::move(value));
      items.push_back(std::move(item));
    };
    for (const auto& [type, key] : farm_->HostKeys(node.uid, i)) add("hostkeys", type, key);
    add("guestInventory", "hostname", fmt::format("{}-w-{}", node.host, i));
    Value answer;
    answer.Set("queryPath", request["queryPath"].AsString());
    answer.SetPath("queryValue.items", std::move(items));
    answers.push_back(std::move(answer));
  }
  Value response;
  response.Set("guestAttributes", std::move(answers));
  return response;
}

Answer Service::GetOperation(const std::string& name) {
  std::lock_guard lock(mutex_);
  const Operation* operation = operations_.Find(name);
  if (operation == nullptr) return NotFound(name);
  return operation->ToWire();
}

Answer Service::ListOperations(const Place& place, const PageRequest& page) {
  std::lock_guard lock(mutex_);
  return operations_.List(place, page);
}

Answer Service::DeleteOperation(const std::string& name) {
  std::lock_guard lock(mutex_);
  const Operation* operation = operations_.Find(name);
  if (operation == nullptr) return NotFound(name);
  if (!operation->done) {
    return ApiError{.status = "FAILED_PRECONDITION",
                    .message = fmt::format("'{}' has not ended yet.", name),
                    .details = {}};
  }
  operations_.Forget(name);
  return Value::EmptyMap();
}

Answer Service::CancelOperation(const std::string& name) {
  std::lock_guard lock(mutex_);
  Operation* operation = operations_.Find(name);
  if (operation == nullptr) return NotFound(name);
  if (operation->done) return Value::EmptyMap();
  operation->cancel_requested = true;
  // Best effort: what is on its way down or up goes on; a create or an update is taken back.
  if (operation->verb == "create" || operation->verb == "update") {
    if (operation->verb == "create") EraseQueued(operation->target);
    const auto node = nodes_.find(operation->target);
    if (operation->verb == "create" && node != nodes_.end()) {
      farm_->Discard(node->second.uid);
      EraseNode(operation->target);
    }
    operations_.Fail(operation, ApiError{.status = "CANCELLED",
                                         .message = "The operation was cancelled by the client.",
                                         .details = {}}
                                    .RpcStatus());
  }
  return Value::EmptyMap();
}

}  // namespace podctl::emulator
