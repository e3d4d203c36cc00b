#include "providers/emulator/service/machines.h"

#include <fmt/format.h>

#include <utility>

#include "providers/emulator/service/catalogue.h"

namespace podctl::emulator {
namespace {

// The workers of a killed emulator need a moment to follow it.
constexpr std::chrono::milliseconds kAddressPatience{1000};
constexpr std::int64_t kBootLimitMs = 120'000;      // after the due time, then the operation fails
constexpr std::int64_t kMaintenanceMs = 3'600'000;  // as announced; it lasts as long as a reboot

Value WorkersFailed(std::string_view why) {
  return MakeStatus("INTERNAL", fmt::format("The workers did not start: {}", why)).RpcStatus();
}

}  // namespace

Machines::Machines(Core* core, const OsLogin* logins, NodeOwner* owner)
    : core_(core),
      logins_(logins),
      owner_(owner),
      nodes_(core->journal, "node"),
      addresses_(core->farm, core->settings.address_seed) {}

Refusal Machines::Add(const std::string& name, Node node) {
  node.addresses = addresses_.Take(node.workers);
  if (node.addresses.empty()) {
    return MakeStatus("RESOURCE_EXHAUSTED", "The emulator has no free loopback addresses left.");
  }
  const std::vector<std::string> addresses = node.addresses;
  auto written = nodes_.Put(name, std::move(node));
  if (written) return std::nullopt;
  addresses_.Release(addresses);
  return Unavailable(written.error().message);
}

void Machines::Erase(const std::string& name) {
  const Node* found = nodes_.Find(name);
  if (found == nullptr) return;
  const Node node = *found;
  addresses_.Release(node.addresses);
  nodes_.Erase(name);
  Hear(NodeOwner::Event::kChanged, node);
  Hear(NodeOwner::Event::kCapacity, node);
}

void Machines::Keep(const std::string& name) {
  Node& node = nodes_.at(name);
  node.text.clear();
  nodes_.Keep(name);
}

void Machines::Restore(const std::string& name, const Value& record) {
  addresses_.Claim(nodes_.Restore(name, record).addresses);
}

Result<void> Machines::Resume() {
  for (auto& [name, node] : nodes_.rows()) {
    const std::string& state = node.state();
    if (state == "CREATING" || state == "STARTING" || state == "READY" || state == "RESTARTING") {
      if (auto renewed = RenewAddresses(name, kAddressPatience); !renewed) return renewed;
      Boot(node);
    } else if (state == "DELETING") {
      core_->farm->Discard(node.uid);  // what the last run did not get to
    }
  }
  return {};
}

Result<void> Machines::RenewAddresses(const std::string& name, std::chrono::milliseconds patience) {
  Node& node = nodes_.at(name);
  auto moved = addresses_.Renew(&node.addresses, name, patience);
  if (!moved) return moved.error();
  // Before READY there are no endpoints to show yet.
  if (*moved && node.resource.Find("networkEndpoints") != nullptr) ShowEndpoints(&node);
  if (*moved) Keep(name);
  return {};
}

void Machines::Boot(const Node& node) {
  core_->farm->Boot(Describe(node));
}

void Machines::BootAfterDelay(const std::string& name) {
  boots_.emplace(core_->clock.NowMs() + core_->settings.worker_boot_delay.count(), name);
}

std::int64_t Machines::TendBoots(std::int64_t now) {
  for (; !boots_.empty() && boots_.begin()->first <= now; boots_.erase(boots_.begin())) {
    const Node* node = nodes_.Find(boots_.begin()->second);
    if (node != nullptr) Boot(*node);
  }
  return boots_.empty() ? kNever : boots_.begin()->first;
}

void Machines::Tell(const Node& node) {
  core_->farm->SetMetadata(Describe(node));
}

void Machines::ShowEndpoints(Node* node) {
  const Value::List& cards = node->resource["networkConfigs"].AsList();
  const bool external = node->resource.FindPath("networkConfig.enableExternalIps") != nullptr ||
                        (!cards.empty() && cards[0]["enableExternalIps"].AsBool());
  node->resource.Set("networkEndpoints", MakeEndpoints(node->addresses, external));
}

MachineSet Machines::Describe(const Node& node) const {
  const std::string& owner = node.owner();
  MachineSet machines{.uid = node.uid,
                      .host = node.host,
                      .has_runtime = HasTpuRuntime(node.resource["runtimeVersion"].AsString()),
                      .addresses = node.addresses,
                      .network = owner.empty() ? node.uid : owner,
                      .metadata = node.resource["metadata"],
                      .node = node.resource,
                      .project_metadata = logins_->project_metadata(),
                      .accounts = logins_->Accounts(node.resource["metadata"])};
  const std::size_t count = owner.empty() ? 0 : owner_->SlicesOf(owner);
  if (count == 0) return machines;
  machines.slices = static_cast<int>(count);
  const std::vector<std::string> slices = owner_->NodesOf(owner);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Node& one = *nodes_.Find(slices[i]);
    if (one.uid == node.uid) machines.slice = static_cast<int>(i);
    if (i == 0) machines.coordinator = one.addresses.front();
  }
  return machines;
}

std::optional<Value> Machines::Ready(const Operation& operation, const Node& node) {
  const Condition condition = core_->farm->ConditionOf(node.uid);
  if (condition == Condition::kUp) return Value();
  if (condition == Condition::kFailed) return WorkersFailed(core_->farm->FailureOf(node.uid));
  if (core_->clock.NowMs() < operation.due_ms + kBootLimitMs) return std::nullopt;
  return WorkersFailed("they do not answer");
}

std::optional<Value> Machines::Rebooted(const Operation& operation, const Node& node,
                                        const Value::List& workers) {
  if (core_->farm->ConditionOf(node.uid) != Condition::kOff) return Ready(operation, node);
  if (workers.empty()) Boot(node);
  for (const Value& worker : workers) {
    static_cast<void>(core_->farm->Act(node.uid, static_cast<int>(worker.AsInt()), "start"));
  }
  return std::nullopt;
}

void Machines::TakeDown(const std::string& name) {
  core_->operations.Abort(name, "being deleted", false);
  Node& node = nodes_.at(name);
  const std::string state = node.state();
  if (state == "DELETING") return;  // its workers are on their way already
  core_->farm->Discard(node.uid);
  if (state != "PREEMPTED" && state != "TERMINATED") node.resource.Set("state", "DELETING");
  node.resource.Erase("health");
  Keep(name);
}

void Machines::Lose(const std::string& name, std::string_view state) {
  core_->operations.Abort(name, state, false);
  Node& node = nodes_.at(name);
  node.resource.Set("state", state);
  for (const char* field : {"health", "healthDescription", "networkEndpoints"}) {
    node.resource.Erase(field);
  }
  node.holds_capacity = false;
  core_->farm->PowerOff(node.uid);
  Keep(name);
  Hear(NodeOwner::Event::kCapacity, node);
  Hear(NodeOwner::Event::kLost, node);
}

void Machines::BeginMaintenance(const std::string& name, const Value::List& workers) {
  Node& node = nodes_.at(name);
  node.resource.Set("health", "UNHEALTHY_MAINTENANCE");
  node.resource.Set("healthDescription", "A maintenance event is going on.");
  node.resource.Set("upcomingMaintenance",
                    Value::Map{{"type", "UNSCHEDULED"},
                               {"maintenanceStatus", "ONGOING"},
                               {"windowStartTime", core_->clock.Timestamp()},
                               {"windowEndTime", core_->clock.Timestamp(kMaintenanceMs)}});
  if (workers.empty()) core_->farm->PowerOff(node.uid);
  for (const Value& worker : workers) {
    // Without workers there is nothing to stop.
    static_cast<void>(core_->farm->Act(node.uid, static_cast<int>(worker.AsInt()), "stop"));
  }
  Keep(name);
}

void Machines::EndMaintenance(const std::string& name) {
  Node& node = nodes_.at(name);
  if (node.state() == "READY") node.resource.Set("health", "HEALTHY");
  node.resource.Erase("healthDescription");
  node.resource.Erase("upcomingMaintenance");
  Keep(name);
}

}  // namespace podctl::emulator
