#include "providers/emulator/service/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace podctl::emulator {
namespace {

constexpr std::int64_t kLookAgainMs = 20;  // between two looks at machines that still go down

// 0 stands for no time at all.
std::int64_t OrNever(std::int64_t time) {
  return time == 0 ? kNever : time;
}

}  // namespace

void Queue::Erase(const std::string& name) {
  if (queue_.Erase(name)) Hear(Event::kCapacity, {});
}

void Queue::Enter(const std::string& name, std::string_view state, std::string_view initiator,
                  const Value& error) {
  Queued& queued = queue_.at(name);
  SetQueuedState(&queued.resource, state, initiator, error);
  queued.since_ms = core_->clock.NowMs();
  queued.look_ms = 0;
  queue_.Keep(name);
  core_->changed.notify_all();
}

void Queue::Suspend(const std::string& name, std::string_view initiator) {
  for (const std::string& node : NodesOf(name)) machines_->TakeDown(node);
  Enter(name, "SUSPENDING", initiator);
}

std::vector<std::string> Queue::NodesOf(const std::string& owner) const {
  std::vector<std::string> nodes;
  const Queued* queued = queue_.Find(owner);
  if (queued == nullptr) return nodes;
  for (std::string& name : queued->NodeNames()) {
    const Node* node = machines_->Find(name);
    if (node != nullptr && node->owner() == owner) nodes.push_back(std::move(name));
  }
  return nodes;
}

std::size_t Queue::SlicesOf(const std::string& owner) const {
  const Queued* queued = queue_.Find(owner);
  return queued == nullptr ? 0 : queued->types.size();
}

void Queue::HearFailure(const std::string& owner, const Value& error) {
  if (Queued* queued = queue_.Find(owner)) queued->failure = error;
}

void Queue::Hear(Event event, const std::string& owner) {
  if (event == Event::kCapacity) {
    for (auto& [name, queued] : queue_.rows()) {
      if (IsWaiting(queued.state())) queued.look_ms = 0;
    }
    core_->changed.notify_all();
    return;
  }
  Queued* const queued = queue_.Find(owner);
  if (queued == nullptr) return;
  if (event == Event::kChanged) {
    queued->look_ms = 0;
    core_->changed.notify_all();
    return;
  }
  if (queued->state() != "ACTIVE" && queued->state() != "PROVISIONING") return;
  // A copy: it may be the node's own text, which goes with the node.
  const std::string name = owner;  // NOLINT(performance-unnecessary-copy-initialization)
  const std::vector<std::string> nodes = NodesOf(name);
  // The last node that the user deletes takes the request with it.
  const bool ends = event == Event::kLost ||
                    std::all_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
                      return machines_->Find(node)->state() == "DELETING";
                    });
  if (ends) Suspend(name, event == Event::kLost ? "SERVICE" : "USER");
}

std::int64_t Queue::Tend(std::int64_t now) {
  std::vector<std::pair<std::int64_t, std::string>> due;  // first come, first served
  for (const auto& [name, queued] : queue_.rows()) {
    if (queued.look_ms <= now) due.emplace_back(queued.arrived_ms, name);
  }
  std::sort(due.begin(), due.end());
  for (const auto& [arrived, name] : due) {
    Queued& queued = queue_.at(name);
    queued.look_ms = kNever;  // what happens meanwhile may set it anew
    const std::int64_t next = TendOne(name, now);
    queued.look_ms = std::min(queued.look_ms, next);
  }
  std::int64_t next = kNever;
  for (const auto& [name, queued] : queue_.rows()) next = std::min(next, queued.look_ms);
  return next;
}

std::int64_t Queue::TendOne(const std::string& name, std::int64_t now) {
  const Queued& queued = queue_.at(name);
  const std::string state = queued.state();
  if (IsWaiting(state)) return TendWaiting(name, now);
  if (state == "PROVISIONING") return TendProvisioning(name);
  if (state == "SUSPENDING") return TendSuspending(name, now);
  if (state == "ACTIVE" && queued.run_until_ms != 0) {
    if (now < queued.run_until_ms) return queued.run_until_ms;
    Suspend(name, "SERVICE");
  }
  return kNever;
}

bool Queue::HasCapacityFor(const Place& place, const Queued& queued) const {
  std::map<std::string, int> wanted;
  for (const std::string& type : queued.types) ++wanted[type];
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    return core_->capacity.Find(place.zone, entry.first, queued.reservation, entry.second)
        .has_value();
  });
}

std::int64_t Queue::TendWaiting(const std::string& name, std::int64_t now) {
  Queued& queued = queue_.at(name);
  const std::int64_t end = OrNever(queued.not_after_ms);
  if (now >= end) {
    const ApiError expired = MakeStatus(
        "DEADLINE_EXCEEDED",
        fmt::format("The queued resource '{}' could not be provisioned within its queueing policy.",
                    name));
    Enter(name, "FAILED", "", expired.RpcStatus());
    return kNever;
  }
  const bool accepted = queued.state() == "ACCEPTED";
  if (accepted && now < queued.since_ms + core_->DelayMs()) {
    return std::min(end, queued.since_ms + core_->DelayMs());
  }
  if (now >= queued.not_before_ms && HasCapacityFor(PlaceOf(name), queued)) {
    Provision(name);
    return kNever;
  }
  if (accepted) Enter(name, "WAITING_FOR_RESOURCES");
  queued.look_ms = kNever;
  return now < queued.not_before_ms ? std::min(end, queued.not_before_ms) : end;
}

Refusal Queue::AddNode(const std::string& name, const Queued& queued, std::size_t index,
                       const std::string& node_name) {
  const Place place = PlaceOf(name);
  NewNodeAnswer made = MakeNode(place, IdOf(node_name), QueuedNodeBody(queued, index),
                                queued.version, core_->clock.Timestamp());
  if (machines_->Find(node_name) != nullptr) return AlreadyExists(node_name);
  if (auto* refused = std::get_if<ApiError>(&made)) return std::move(*refused);
  Node& node = std::get<Node>(made);
  node.resource.Set("queuedResource", name);
  if (queued.is_multislice) node.resource.Set("multisliceNode", true);
  node.holds_capacity = true;
  node.reservation =
      core_->capacity.Find(place.zone, queued.types[index], queued.reservation).value_or("");
  return machines_->Add(node_name, std::move(node));
}

void Queue::Provision(const std::string& name) {
  Enter(name, "PROVISIONING");
  Queued& queued = queue_.at(name);
  const std::vector<std::string> nodes = queued.NodeNames();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const Refusal refusal = AddNode(name, queued, i, nodes[i])) {
      queued.failure = refusal->RpcStatus();
      return;
    }
    if (core_->settings.worker_boot_delay.count() == 0) machines_->Boot(*machines_->Find(nodes[i]));
    Call call;
    call.version = queued.version;
    call.place = PlaceOf(name);
    static_cast<void>(core_->operations.Begin(call, "create", nodes[i]));
  }
}

std::int64_t Queue::TendProvisioning(const std::string& name) {
  Queued& queued = queue_.at(name);
  const std::vector<std::string> nodes = NodesOf(name);
  if (!queued.failure.is_null()) {
    for (const std::string& node : nodes) {
      machines_->TakeDown(node);
      machines_->Erase(node);
    }
    Enter(name, "FAILED", "", queued.failure);
    return kNever;
  }
  for (const std::string& node : nodes) {
    const std::string& state = machines_->Find(node)->state();
    if (state != "READY" && state != "DELETING") return kNever;  // its operation will tell
  }
  Enter(name, "ACTIVE");
  if (queued.run_ms != 0) {
    queued.run_until_ms = queued.since_ms + queued.run_ms;
    queue_.Keep(name);
  }
  return OrNever(queued.run_until_ms);
}

std::int64_t Queue::TendSuspending(const std::string& name, std::int64_t now) {
  const Queued& queued = queue_.at(name);
  if (now < queued.since_ms + core_->DelayMs()) return queued.since_ms + core_->DelayMs();
  bool gone = true;
  for (const std::string& node : NodesOf(name)) {
    // A deletion that the user began ends by itself.
    if (core_->operations.PendingFor(node) != nullptr ||
        core_->farm->ConditionOf(machines_->Find(node)->uid) == Condition::kBooting) {
      gone = false;
    } else {
      machines_->Erase(node);
    }
  }
  if (!gone) return now + kLookAgainMs;
  const std::string initiator = queued.resource["state"]["stateInitiator"].AsString();
  Enter(name, "SUSPENDED", initiator);
  return kNever;
}

}  // namespace podctl::emulator
