#include "providers/emulator/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

std::string NodeName(const Place& place, std::string_view node_id) {
  return fmt::format("{}/nodes/{}", place.Parent(), node_id);
}

std::string ReservationOf(const Value& node) {
  const Value& scheduling = node["schedulingConfig"];
  const std::string& name = scheduling["reservationName"].AsString();
  if (!name.empty()) return ReservationId(name);
  const bool any = scheduling["reserved"].AsBool() ||
                   scheduling["provisioningModel"].AsString() == "RESERVATION_BOUND";
  return any ? "-" : "";
}

ApiError NotInState(std::string_view verb, std::string_view state) {
  return BadRequest(fmt::format("{} is not supported while in state {}", verb, state));
}

// One text is enough for nodes that look the same in both versions, as most do.
void WriteTexts(const Value& resource, std::string* text, std::string* alpha_text) {
  Value view = NodeView(resource, ApiVersion::kV2);
  *text = ToJson(view);
  *alpha_text = view == resource ? std::string() : ToJson(resource);
}

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  bool has_bits = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (dash ? c != '-' : !hex) return false;
    has_bits = has_bits || (!dash && c != '0');
  }
  return has_bits;
}

Value StringList(const std::vector<std::string>& items) {
  Value::List list;
  for (const std::string& item : items) list.emplace_back(item);
  return list;
}

}  // namespace

std::string RequestKey(std::string_view method, const Place& place, const CallContext& context) {
  if (context.request_id.empty()) return {};
  return fmt::format("{} {} {}", method, place.Parent(), context.request_id);
}

Value TypedEmpty() {
  Value response;
  response.Set("@type", "type.googleapis.com/google.protobuf.Empty");
  return response;
}

Place PlaceOf(std::string_view resource_name) {
  std::array<std::string_view, 4> parts;  // projects/P/locations/Z
  for (std::string_view& part : parts) {
    const std::size_t slash = resource_name.find('/');
    part = resource_name.substr(0, slash);
    resource_name.remove_prefix(slash == std::string_view::npos ? resource_name.size() : slash + 1);
  }
  return {.project = std::string(parts[1]), .zone = std::string(parts[3])};
}

std::string IdOf(std::string_view resource_name) {
  return std::string(resource_name.substr(resource_name.rfind('/') + 1));
}

Service::Service(Settings settings, Limits limits, Journal* journal, WorkerFarm* farm)
    : settings_(settings),
      journal_(journal),
      farm_(farm),
      limits_(std::move(limits)),
      operations_(journal, &clock_),
      next_address_(settings.address_seed % kAddresses) {}

Service::~Service() {
  Stop();
}

Result<void> Service::Start() {
  std::lock_guard lock(mutex_);
  for (const auto& [key, record] : journal_->TakeEntries()) Restore(key, record);
  for (auto& [name, node] : nodes_) {
    const std::string& state = node.resource["state"].AsString();
    const bool lives =
        state == "CREATING" || state == "STARTING" || state == "READY" || state == "RESTARTING";
    if (lives) {
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
  } else if (key == "clock:") {
    clock_.Advance(std::chrono::milliseconds(record["skippedMs"].AsInt()));
  } else if (key == "projectMetadata:") {
    project_metadata_ = record;
  } else if (key.rfind("login:", 0) == 0) {
    os_login_.Restore(key.substr(6), record);
  } else if (key.rfind("queued:", 0) == 0) {
    RestoreQueued(key.substr(7), record);
  } else if (key.rfind("job:", 0) == 0) {
    RestoreJob(key.substr(4), record);
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
    node.holds_room = record["holdsRoom"].AsBool();
    node.reservation = record["reservation"].AsString();
    node.queued = node.resource["queuedResource"].AsString();
    WriteTexts(node.resource, &node.text, &node.alpha_text);
    nodes_.emplace(key.substr(5), std::move(node));
  }
}

Result<void> Service::SaveNode(const std::string& name) {
  Node& node = nodes_.at(name);
  WriteTexts(node.resource, &node.text, &node.alpha_text);
  Value record;
  record.Set("resource", node.resource);
  record.Set("workers", node.workers);
  record.Set("uid", node.uid);
  record.Set("host", node.host);
  record.Set("addresses", StringList(node.addresses));
  record.Set("holdsRoom", node.holds_room);
  record.Set("reservation", node.reservation);
  return journal_->Put("node:" + name, record);
}

void Service::EraseNode(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  for (const std::string& address : found->second.addresses) taken_.erase(address);
  const std::string queued = found->second.queued;
  nodes_.erase(found);
  static_cast<void>(journal_->Erase("node:" + name));  // a full disk shows at the next request
  if (!queued.empty()) Poke(queued);
  WakeQueue();
}

MachineSet Service::Machines(const Node& node) const {
  MachineSet machines{.uid = node.uid,
                      .host = node.host,
                      .has_runtime = HasTpuRuntime(node.resource["runtimeVersion"].AsString()),
                      .addresses = node.addresses,
                      .network = node.queued.empty() ? node.uid : node.queued,
                      .metadata = node.resource["metadata"],
                      .node = node.resource,
                      .project_metadata = project_metadata_,
                      .accounts = AccountsOf(node)};
  if (const auto queued = queue_.find(node.queued); queued != queue_.end()) {
    const std::vector<std::string> slices = NodesOf(node.queued, queued->second);
    machines.slices = static_cast<int>(queued->second.request.types.size());
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const Node& one = nodes_.at(slices[i]);
      if (one.uid == node.uid) machines.slice = static_cast<int>(i);
      if (i == 0) machines.coordinator = one.addresses.front();
    }
  }
  return machines;
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
                      Value payload, const CallContext& context, const std::string& request) {
  const std::int64_t due = clock_.NowMs() + DelayMs();
  Operation& operation = operations_.Begin(place, verb, name, due, std::move(payload));
  operation.failure = context.failure;
  operation.version = context.version;
  operations_.NameRequest(&operation, request);
  if (auto written = operations_.Save(operation); !written) {
    return ApiError{.status = "UNAVAILABLE", .message = written.error().message, .details = {}};
  }
  agenda_.emplace(due, operation.name);
  changed_.notify_all();
  return operation.ToWire();
}

std::optional<Answer> Service::Replay(const std::string& request, const CallContext& context,
                                      const std::string& target) {
  if (request.empty()) return std::nullopt;
  if (!IsUuid(context.request_id)) {
    return FieldViolation("request_id",
                          fmt::format("The request id \"{}\" is no UUID.", context.request_id));
  }
  const Operation* operation = operations_.FindRequest(request);
  if (operation == nullptr) return std::nullopt;
  if (operation->target == target) return operation->ToWire();
  return FieldViolation(
      "request_id",
      fmt::format("The request id \"{}\" was used for another resource.", context.request_id));
}

Refusal Service::AddNode(const std::string& name, NewNode fresh, Node node) {
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
  nodes_.emplace(name, std::move(node));
  if (auto written = SaveNode(name); !written) {
    EraseNode(name);
    return ApiError{.status = "UNAVAILABLE", .message = written.error().message, .details = {}};
  }
  return std::nullopt;
}

Answer Service::CreateNode(const Place& place, const std::string& node_id, const Value& body,
                           const CallContext& context) {
  NewNodeAnswer made = MakeNode(place, node_id, body, context.version, clock_.Timestamp());
  if (auto* refusal = std::get_if<ApiError>(&made)) return std::move(*refusal);
  NewNode& fresh = std::get<NewNode>(made);
  const std::string name = NodeName(place, node_id);
  const std::string type = fresh.resource["acceleratorType"].AsString();
  const std::string reservation = ReservationOf(fresh.resource);

  std::lock_guard lock(mutex_);
  const std::string request = RequestKey("nodes.create", place, context);
  if (auto known = Replay(request, context, name)) return *std::move(known);
  if (nodes_.count(name) != 0) return AlreadyExists(name);
  if (auto refusal = Admit(place, {type}, IsSpot(fresh.resource), reservation)) {
    return *std::move(refusal);
  }
  CallContext outcome = context;
  Node node;
  if (const auto room = FindRoom(place.zone, type, reservation, 1); !outcome.failure.is_null()) {
    // It fails anyway.
  } else if (room) {
    node.holds_room = true;
    node.reservation = *room;
  } else {
    outcome.failure =
        (reservation.empty() ? NoCapacity(place.zone) : NoReservedCapacity()).RpcStatus();
  }
  if (auto refusal = AddNode(name, std::move(fresh), std::move(node))) return *std::move(refusal);
  if (outcome.failure.is_null() && settings_.worker_boot_delay.count() == 0) {
    farm_->Boot(Machines(nodes_.at(name)));
  }
  return Begin(place, "create", name, Value(), outcome, request);
}

TextAnswer Service::GetNode(const Place& place, const std::string& node_id, ApiVersion version) {
  const std::string name = NodeName(place, node_id);
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return NotFound(name);
  const Node& node = found->second;
  return version == ApiVersion::kV2 || node.alpha_text.empty() ? node.text : node.alpha_text;
}

TextAnswer Service::ListNodes(const Place& place, const PageRequest& page, ApiVersion version) {
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
    const Node& node = at->second;
    text += version == ApiVersion::kV2 || node.alpha_text.empty() ? node.text : node.alpha_text;
    last = at->first;
  }
  text += count == 0 ? "}" : "]}";
  return text;
}

Answer Service::PatchNode(const Place& place, const std::string& node_id, std::string_view mask,
                          const Value& body, const CallContext& context) {
  const std::string name = NodeName(place, node_id);
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return NotFound(name);
  UpdateAnswer update = MakeUpdate(mask, body, found->second.workers, context.version);
  if (auto* refusal = std::get_if<ApiError>(&update)) return std::move(*refusal);
  const std::string& state = found->second.resource["state"].AsString();
  if (state != "READY") return NotInState("update", state);
  if (operations_.PendingFor(name) != nullptr) {
    return ApiError{.status = "ABORTED", .message = "unable to queue the operation", .details = {}};
  }
  Value::List fields;
  for (auto& [path, value] : std::get<Update>(update).fields) {
    Value field;
    field.Set("path", path);
    field.Set("value", std::move(value));
    fields.push_back(std::move(field));
  }
  return Begin(place, "update", name, std::move(fields), context);
}

Answer Service::DeleteNode(const Place& place, const std::string& node_id,
                           const CallContext& context) {
  const std::string name = NodeName(place, node_id);
  std::lock_guard lock(mutex_);
  const std::string request = RequestKey("nodes.delete", place, context);
  if (auto known = Replay(request, context, name)) return *std::move(known);
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
  if (context.failure.is_null()) farm_->Discard(node.uid);
  node.resource.Set("state", "DELETING");
  node.resource.Erase("health");
  static_cast<void>(SaveNode(name));  // Begin writes too, and reports a full disk
  if (context.failure.is_null() && !node.queued.empty()) NoteDeletion(node.queued);
  return Begin(place, "delete", name, std::move(payload), context, request);
}

Answer Service::StopNode(const Place& place, const std::string& node_id,
                         const CallContext& context) {
  return Power(place, node_id, false, context);
}

Answer Service::StartNode(const Place& place, const std::string& node_id,
                          const CallContext& context) {
  return Power(place, node_id, true, context);
}

Answer Service::Power(const Place& place, const std::string& node_id, bool on,
                      const CallContext& context) {
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
  CallContext outcome = context;
  if (on && outcome.failure.is_null()) {
    const auto room =
        FindRoom(place.zone, node.resource["acceleratorType"].AsString(), node.reservation, 1);
    if (!room) outcome.failure = NoCapacity(place.zone).RpcStatus();
    node.holds_room = room.has_value();
  }
  const bool boots = on && outcome.failure.is_null();
  if (boots) {
    if (auto renewed = RenewAddresses(name, {}); !renewed) {
      return ApiError{
          .status = "RESOURCE_EXHAUSTED", .message = renewed.error().message, .details = {}};
    }
  }
  node.resource.Set("state", on ? "STARTING" : "STOPPING");
  node.resource.Erase("health");
  static_cast<void>(SaveNode(name));  // Begin writes too, and reports a full disk
  if (boots) {
    farm_->Boot(Machines(node));
  } else if (!on && outcome.failure.is_null()) {
    farm_->PowerOff(node.uid);
  }
  return Begin(place, verb, name, Value(), outcome);
}

Answer Service::MaintainNode(const Place& place, const std::string& node_id,
                             const Value::List& workers, const CallContext& context) {
  const std::string name = NodeName(place, node_id);
  std::lock_guard lock(mutex_);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return NotFound(name);
  Node& node = found->second;
  for (const Value& worker : workers) {
    if (worker.AsInt(-1) < 0 || worker.AsInt(-1) >= node.workers) {
      return BadRequest(fmt::format("The worker id \"{}\" is invalid.", worker.AsString()));
    }
  }
  const std::string& state = node.resource["state"].AsString();
  if (state != "READY" || operations_.PendingFor(name) != nullptr) {
    return NotInState("maintenance", state);
  }
  if (context.failure.is_null()) BeginMaintenance(name, &node, workers);
  return Begin(place, "maintain", name, Value(workers), context);
}

}  // namespace podctl::emulator
