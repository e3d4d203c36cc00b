#include "providers/emulator/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/catalogue.h"

namespace podctl::emulator {
namespace {

// 127.64.0.0/10: four million addresses of loopback that nothing else uses by habit.
constexpr std::uint32_t kFirstAddress = (127U << 24U) | (64U << 16U);
constexpr std::uint32_t kAddresses = 1U << 22U;
constexpr int kAddressTries = 100'000;
// The workers of a killed emulator need a moment to follow it.
constexpr std::chrono::milliseconds kAddressPatience{1000};
constexpr std::chrono::milliseconds kAddressPause{20};

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string NodeName(const Place& place, std::string_view node_id) {
  return fmt::format("{}/nodes/{}", place.Parent(), node_id);
}

ApiError NotInState(std::string_view verb, std::string_view state) {
  return BadRequest(fmt::format("{} is not supported while in state {}", verb, state));
}

Value StringList(const std::vector<std::string>& items) {
  Value::List list;
  for (const std::string& item : items) list.emplace_back(item);
  return list;
}

}  // namespace

Service::Service(Settings settings, Journal* journal, WorkerFarm* farm)
    : settings_(settings),
      journal_(journal),
      farm_(farm),
      operations_(journal),
      next_address_(settings.address_seed % kAddresses) {}

Service::~Service() {
  Stop();
}

Result<void> Service::Start() {
  std::lock_guard lock(mutex_);
  for (const auto& [key, record] : journal_->TakeEntries()) Restore(key, record);
  for (auto& [name, node] : nodes_) {
    const std::string& state = node.resource["state"].AsString();
    if (state == "CREATING" || state == "STARTING" || state == "READY") {
      if (auto renewed = RenewAddresses(name, kAddressPatience); !renewed) return renewed;
      farm_->Boot(Machines(node));
    } else if (state == "DELETING") {
      farm_->Discard(node.uid);  // what the last run did not get to
    }
  }
  thread_ = std::thread([this] { Run(); });
  return {};
}

void Service::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Service::Restore(const std::string& key, const Value& record) {
  if (key.rfind("operation:", 0) == 0) {
    Operation operation = Operation::FromRecord(record);
    if (!operation.done) agenda_.emplace(operation.due_ms, operation.name);
    operations_.Restore(std::move(operation));
  } else if (key.rfind("node:", 0) == 0) {
    Node node;
    node.resource = record["resource"];
    node.workers = static_cast<int>(record["workers"].AsInt());
    node.uid = record["uid"].AsString();
    node.host = record["host"].AsString();
    for (const Value& address : record["addresses"].AsList()) {
      node.addresses.push_back(address.AsString());
      taken_.insert(address.AsString());
    }
    node.text = ToJson(node.resource);
    nodes_.emplace(key.substr(5), std::move(node));
  }
}

Result<void> Service::SaveNode(const std::string& name) {
  Node& node = nodes_.at(name);
  node.text = ToJson(node.resource);
  Value record;
  record.Set("resource", node.resource);
  record.Set("workers", node.workers);
  record.Set("uid", node.uid);
  record.Set("host", node.host);
  record.Set("addresses", StringList(node.addresses));
  return journal_->Put("node:" + name, record);
}

void Service::EraseNode(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  for (const std::string& address : found->second.addresses) taken_.erase(address);
  nodes_.erase(found);
  static_cast<void>(journal_->Erase("node:" + name));  // a full disk shows at the next request
}

MachineSet Service::Machines(const Node& node) const {
  return {.uid = node.uid,
          .host = node.host,
          .has_runtime = HasTpuRuntime(node.resource["runtimeVersion"].AsString()),
          .addresses = node.addresses,
          .metadata = node.resource["metadata"]};
}

std::vector<std::string> Service::TakeAddresses(int count) {
  std::vector<std::string> addresses;
  for (int tries = 0; static_cast<int>(addresses.size()) < count && tries < kAddressTries;
       ++tries) {
    const std::uint32_t bits = kFirstAddress + next_address_;
    next_address_ = (next_address_ + 1) % kAddresses;
    if ((bits & 255U) == 0 || (bits & 255U) == 255U) continue;  // they look like networks
    std::string address = fmt::format("{}.{}.{}.{}", bits >> 24U, (bits >> 16U) & 255U,
                                      (bits >> 8U) & 255U, bits & 255U);
    if (taken_.count(address) != 0 || !farm_->IsFree(address)) continue;
    taken_.insert(address);
    addresses.push_back(std::move(address));
  }
  return addresses;
}

Result<void> Service::RenewAddresses(const std::string& name, std::chrono::milliseconds patience) {
  Node& node = nodes_.at(name);
  bool moved = false;
  for (std::string& address : node.addresses) {
    bool is_free = farm_->IsFree(address);
    for (; !is_free && patience.count() > 0; patience -= kAddressPause) {
      std::this_thread::sleep_for(kAddressPause);
      is_free = farm_->IsFree(address);
    }
    if (is_free) continue;
    const std::vector<std::string> fresh = TakeAddresses(1);
    if (fresh.empty()) {
      return MakeError(ErrorCode::kUnavailable,
                       fmt::format("the address {} of a worker of {} is taken, and there is no "
                                   "other one left",
                                   address, name));
    }
    taken_.erase(address);
    address = fresh.front();
    moved = true;
  }
  if (!moved) return {};
  // Before READY there are no endpoints to show yet.
  if (node.resource.Find("networkEndpoints") != nullptr) ShowEndpoints(&node);
  return SaveNode(name);
}

void Service::ShowEndpoints(Node* node) {
  const bool external =
      node->resource.FindPath("networkConfig.enableExternalIps") != nullptr ||
      (!node->resource["networkConfigs"].AsList().empty() &&
       node->resource["networkConfigs"].AsList()[0]["enableExternalIps"].AsBool());
  node->resource.Set("networkEndpoints", MakeEndpoints(node->addresses, external));
}

Answer Service::Begin(const Place& place, std::string_view verb, const std::string& name,
                      Value payload, const Value& failure) {
  const std::int64_t due = NowMs() + settings_.operation_delay.count();
  Operation& operation = operations_.Begin(place, verb, name, due, std::move(payload));
  operation.failure = failure;
  if (auto written = operations_.Save(operation); !written) {
    return ApiError{.status = "UNAVAILABLE", .message = written.error().message, .details = {}};
  }
  agenda_.emplace(due, operation.name);
  changed_.notify_all();
  return operation.ToWire();
}

Answer Service::CreateNode(const Place& place, const std::string& node_id, const Value& body,
                           const Value& failure) {
  NewNodeAnswer made = MakeNode(place, node_id, body);
  if (auto* refusal = std::get_if<ApiError>(&made)) return std::move(*refusal);
  NewNode& fresh = std::get<NewNode>(made);
  const std::string name = NodeName(place, node_id);

  std::lock_guard lock(mutex_);
  if (nodes_.count(name) != 0) return AlreadyExists(name);
  Node node;
  node.resource = std::move(fresh.resource);
  node.workers = fresh.workers;
  node.uid = std::move(fresh.uid);
  node.host = std::move(fresh.host);
  node.addresses = TakeAddresses(node.workers);
  if (static_cast<int>(node.addresses.size()) < node.workers) {
    for (const std::string& address : node.addresses) taken_.erase(address);
    return ApiError{.status = "RESOURCE_EXHAUSTED",
                    .message = "The emulator has no free loopback addresses left.",
                    .details = {}};
  }
  const auto placed = nodes_.emplace(name, std::move(node)).first;
  if (auto written = SaveNode(name); !written) {
    EraseNode(name);
    return ApiError{.status = "UNAVAILABLE", .message = written.error().message, .details = {}};
  }
  if (failure.is_null() && settings_.worker_boot_delay.count() == 0) {
    farm_->Boot(Machines(placed->second));
  }
  return Begin(place, "create", name, Value(), failure);
}

TextAnswer Service::GetNode(const Place& place, const std::string& node_id) {
  const std::string name = NodeName(place, node_id);
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return NotFound(name);
  return found->second.text;
}

TextAnswer Service::ListNodes(const Place& place, const PageRequest& page) {
  const bool all_zones = place.zone == "-";
  const std::string prefix =
      all_zones ? fmt::format("projects/{}/locations/", place.project) : place.Parent() + "/nodes/";
  std::lock_guard lock(mutex_);
  std::string text = "{";
  std::string last;
  int count = 0;
  auto at = page.after.empty() ? nodes_.lower_bound(prefix) : nodes_.upper_bound(page.after);
  for (; at != nodes_.end() && at->first.rfind(prefix, 0) == 0; ++at) {
    if (count == PageLimit(page)) {
      text += fmt::format("],\"nextPageToken\":\"{}\"}}", MakePageToken(last));
      return text;
    }
    text += count++ == 0 ? "\"nodes\":[" : ",";
    text += at->second.text;
    last = at->first;
  }
  text += count == 0 ? "}" : "]}";
  return text;
}

Answer Service::PatchNode(const Place& place, const std::string& node_id, std::string_view mask,
                          const Value& body, const Value& failure) {
  const std::string name = NodeName(place, node_id);
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return NotFound(name);
  UpdateAnswer update = MakeUpdate(mask, body);
  if (auto* refusal = std::get_if<ApiError>(&update)) return std::move(*refusal);
  const std::string& state = found->second.resource["state"].AsString();
  if (state != "READY") return NotInState("update", state);
  if (operations_.PendingFor(name) != nullptr) {
    return ApiError{.status = "ABORTED",
                    .message = fmt::format("Another operation on '{}' has not ended yet.", name),
                    .details = {}};
  }
  Value::List fields;
  for (auto& [path, value] : std::get<Update>(update).fields) {
    Value field;
    field.Set("path", path);
    field.Set("value", std::move(value));
    fields.push_back(std::move(field));
  }
  return Begin(place, "update", name, std::move(fields), failure);
}

Answer Service::DeleteNode(const Place& place, const std::string& node_id, const Value& failure) {
  const std::string name = NodeName(place, node_id);
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return NotFound(name);
  Node& node = found->second;
  const std::string state = node.resource["state"].AsString();
  if (state == "DELETING") return NotInState("delete", state);
  if (Operation* pending = operations_.PendingFor(name)) {
    operations_.Fail(pending, ApiError{.status = "ABORTED",
                                       .message = fmt::format("'{}' is being deleted.", name),
                                       .details = {}}
                                  .RpcStatus());
  }
  Value payload;
  payload.Set("state", state);  // to go back to when the delete is told to fail
  if (failure.is_null()) farm_->Discard(node.uid);
  node.resource.Set("state", "DELETING");
  node.resource.Erase("health");
  static_cast<void>(SaveNode(name));  // Begin writes too, and reports a full disk
  return Begin(place, "delete", name, std::move(payload), failure);
}

Answer Service::StopNode(const Place& place, const std::string& node_id, const Value& failure) {
  return Power(place, node_id, false, failure);
}

Answer Service::StartNode(const Place& place, const std::string& node_id, const Value& failure) {
  return Power(place, node_id, true, failure);
}

Answer Service::Power(const Place& place, const std::string& node_id, bool on,
                      const Value& failure) {
  const std::string_view verb = on ? "start" : "stop";
  const std::string name = NodeName(place, node_id);
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return NotFound(name);
  Node& node = found->second;
  if (node.workers > 1) {
    return BadRequest(
        fmt::format("{} is not supported for this node: this operation is only available with "
                    "single TPU nodes.",
                    verb));
  }
  const std::string state = node.resource["state"].AsString();
  if (state != (on ? "STOPPED" : "READY") || operations_.PendingFor(name) != nullptr) {
    return NotInState(verb, state);
  }
  if (on) {
    if (auto renewed = RenewAddresses(name, {}); !renewed) {
      return ApiError{
          .status = "RESOURCE_EXHAUSTED", .message = renewed.error().message, .details = {}};
    }
  }
  node.resource.Set("state", on ? "STARTING" : "STOPPING");
  node.resource.Erase("health");
  static_cast<void>(SaveNode(name));  // Begin writes too, and reports a full disk
  if (on) {
    farm_->Boot(Machines(node));
  } else {
    farm_->PowerOff(node.uid);
  }
  return Begin(place, verb, name, Value(), failure);
}

}  // namespace podctl::emulator
