// The third part of service.h: queued resources are asked for, looked at and kept.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/emulator/service.h"

namespace podctl::emulator {
namespace {

std::string QueuedName(const Place& place, std::string_view id) {
  return fmt::format("{}/queuedResources/{}", place.Parent(), id);
}

}  // namespace

Result<void> Service::SaveQueued(const std::string& name) {
  const Queued& queued = queue_.at(name);
  Value record;
  record.Set("resource", queued.request.resource);
  Value::List types;
  for (const std::string& type : queued.request.types) types.emplace_back(type);
  record.Set("types", std::move(types));
  record.Set("multislice", queued.request.is_multislice);
  record.Set("spot", queued.request.is_spot);
  record.Set("reservation", queued.request.reservation);
  record.Set("notBeforeMs", queued.request.not_before_ms);
  record.Set("notAfterMs", queued.request.not_after_ms);
  record.Set("runMs", queued.request.run_ms);
  record.Set("version", VersionName(queued.version));
  record.Set("arrivedMs", queued.arrived_ms);
  record.Set("sinceMs", queued.since_ms);
  record.Set("runUntilMs", queued.run_until_ms);
  record.Set("failure", queued.failure);
  return journal_->Put("queued:" + name, record);
}

void Service::RestoreQueued(const std::string& name, const Value& record) {
  Queued queued;
  queued.request.resource = record["resource"];
  for (const Value& type : record["types"].AsList()) {
    queued.request.types.push_back(type.AsString());
  }
  queued.request.is_multislice = record["multislice"].AsBool();
  queued.request.is_spot = record["spot"].AsBool();
  queued.request.reservation = record["reservation"].AsString();
  queued.request.not_before_ms = record["notBeforeMs"].AsInt();
  queued.request.not_after_ms = record["notAfterMs"].AsInt();
  queued.request.run_ms = record["runMs"].AsInt();
  queued.version = VersionOf(record["version"].AsString());
  queued.arrived_ms = record["arrivedMs"].AsInt();
  queued.since_ms = record["sinceMs"].AsInt();
  queued.run_until_ms = record["runUntilMs"].AsInt();
  queued.failure = record["failure"];
  queue_.emplace(name, std::move(queued));
}

void Service::EraseQueued(const std::string& name) {
  if (queue_.erase(name) == 0) return;
  static_cast<void>(journal_->Erase("queued:" + name));  // a full disk shows at the next request
  WakeQueue();
}

void Service::Enter(const std::string& name, Queued* queued, std::string_view state,
                    std::string_view initiator, const Value& error) {
  SetQueuedState(&queued->request.resource, state, initiator, error);
  queued->since_ms = clock_.NowMs();
  queued->look_ms = 0;
  static_cast<void>(SaveQueued(name));  // a full disk shows at the next request
  changed_.notify_all();
}

std::vector<std::string> Service::NodesOf(const std::string& name, const Queued& queued) const {
  std::vector<std::string> nodes;
  const std::string parent = PlaceOf(name).Parent();
  for (const Value& spec : queued.request.resource["tpu"]["nodeSpec"].AsList()) {
    std::string node = fmt::format("{}/nodes/{}", parent, spec["nodeId"].AsString());
    const auto found = nodes_.find(node);
    if (found != nodes_.end() && found->second.queued == name) nodes.push_back(std::move(node));
  }
  return nodes;
}

Refusal Service::NameIsTaken(const NewQueued& request) const {
  const std::string& name = request.resource["name"].AsString();
  if (queue_.count(name) != 0) return AlreadyExists(name);
  const std::string parent = PlaceOf(name).Parent();
  std::set<std::string> wanted;
  for (const Value& spec : request.resource["tpu"]["nodeSpec"].AsList()) {
    std::string node = fmt::format("{}/nodes/{}", parent, spec["nodeId"].AsString());
    if (nodes_.count(node) != 0 || !wanted.insert(node).second) return AlreadyExists(node);
  }
  for (const auto& [other, queued] : queue_) {
    if (PlaceOf(other).Parent() != parent) continue;
    for (const Value& spec : queued.request.resource["tpu"]["nodeSpec"].AsList()) {
      const std::string node = fmt::format("{}/nodes/{}", parent, spec["nodeId"].AsString());
      if (wanted.count(node) != 0) return AlreadyExists(node);
    }
  }
  return std::nullopt;
}

Answer Service::CreateQueued(const Place& place, const std::string& id, const Value& body,
                             const CallContext& context) {
  std::lock_guard lock(mutex_);
  const std::string name = QueuedName(place, id);
  const std::string request = RequestKey("queuedResources.create", place, context);
  if (auto known = Replay(request, context, name)) return *std::move(known);
  NewQueuedAnswer made =
      MakeQueued(place, id, body, context.version, clock_.NowMs(), clock_.Timestamp());
  if (auto* refusal = std::get_if<ApiError>(&made)) return std::move(*refusal);
  NewQueued& fresh = std::get<NewQueued>(made);
  if (auto refusal = NameIsTaken(fresh)) return *std::move(refusal);
  if (auto refusal = Admit(place, fresh.types, fresh.is_spot, fresh.reservation)) {
    return *std::move(refusal);
  }
  Queued queued;
  queued.request = std::move(fresh);
  queued.version = context.version;
  queued.arrived_ms = queued.since_ms = clock_.NowMs();
  queued.look_ms = kNever;  // until its operation ends
  queue_.emplace(name, std::move(queued));
  if (auto written = SaveQueued(name); !written) {
    EraseQueued(name);
    return ApiError{.status = "UNAVAILABLE", .message = written.error().message, .details = {}};
  }
  return Begin(place, "create", name, Value(), context, request);
}

Answer Service::GetQueued(const Place& place, const std::string& id, ApiVersion version) {
  const std::string name = QueuedName(place, id);
  std::lock_guard lock(mutex_);
  const auto found = queue_.find(name);
  if (found == queue_.end()) return NotFound(name);
  return QueuedView(found->second.request.resource, version);
}

Answer Service::QueuedMaintenance(const Place& place, const std::string& id) {
  const std::string name = QueuedName(place, id);
  std::lock_guard lock(mutex_);
  const auto found = queue_.find(name);
  if (found == queue_.end()) return NotFound(name);
  Value::List listed;
  for (const std::string& node_name : NodesOf(name, found->second)) {
    const Node& node = nodes_.at(node_name);
    const Value* const upcoming = node.resource.Find("upcomingMaintenance");
    if (upcoming == nullptr) continue;
    Value one;
    one.Set("nodeName", IdOf(node_name));
    one.Set("nodeUid", node.resource["id"]);
    one.Set("upcomingMaintenance", *upcoming);
    listed.push_back(std::move(one));
  }
  Value answer = Value::EmptyMap();
  if (!listed.empty()) answer.Set("nodeUpcomingMaintenances", std::move(listed));
  return answer;
}

Answer Service::ListQueued(const Place& place, const PageRequest& page, ApiVersion version) {
  const std::string prefix = place.zone == "-"
                                 ? fmt::format("projects/{}/locations/", place.project)
                                 : QueuedName(place, "");
  std::lock_guard lock(mutex_);
  Value::List listed;
  Value answer = Value::EmptyMap();
  std::string last;
  auto at = page.after.empty() ? queue_.lower_bound(prefix) : queue_.upper_bound(page.after);
  for (; at != queue_.end() && at->first.rfind(prefix, 0) == 0; ++at) {
    if (static_cast<int>(listed.size()) == PageLimit(page)) {
      answer.Set("nextPageToken", MakePageToken(last));
      break;
    }
    listed.push_back(QueuedView(at->second.request.resource, version));
    last = at->first;
  }
  if (!listed.empty()) answer.Set("queuedResources", std::move(listed));
  return answer;
}

Answer Service::DeleteQueued(const Place& place, const std::string& id, bool force,
                             const CallContext& context) {
  const std::string name = QueuedName(place, id);
  std::lock_guard lock(mutex_);
  const std::string request = RequestKey("queuedResources.delete", place, context);
  if (auto known = Replay(request, context, name)) return *std::move(known);
  const auto found = queue_.find(name);
  if (found == queue_.end()) return NotFound(name);
  Queued& queued = found->second;
  const std::string state = queued.state();
  const std::vector<std::string> nodes = NodesOf(name, queued);
  const bool done_for = IsWaiting(state) || state == "FAILED" || state == "SUSPENDED";
  const bool nodes_are_gone = nodes.empty() && state != "CREATING";
  const bool in_between = state == "SUSPENDING" || state == "DELETING";
  if (in_between || (!force && !done_for && !nodes_are_gone)) {
    return FailedPrecondition(
        in_between
            ? fmt::format("The queued resource '{}' cannot be deleted while it is {}.", name, state)
            : fmt::format("The queued resource '{}' is {}: it can be deleted when its nodes "
                          "have been deleted, or with force.",
                          name, state));
  }
  Value payload;
  payload.Set("state", queued.request.resource["state"]);  // should the delete be told to fail
  if (context.failure.is_null()) {
    if (Operation* pending = operations_.PendingFor(name)) {
      operations_.Fail(pending, ApiError{.status = "ABORTED",
                                         .message = fmt::format("'{}' is being deleted.", name),
                                         .details = {}}
                                    .RpcStatus());
    }
    for (const std::string& node : nodes) TakeDown(node);
  }
  Enter(name, &queued, "DELETING");
  return Begin(place, "delete", name, std::move(payload), context, request);
}

Answer Service::ResetQueued(const Place& place, const std::string& id, const CallContext& context) {
  const std::string name = QueuedName(place, id);
  std::lock_guard lock(mutex_);
  const auto found = queue_.find(name);
  if (found == queue_.end()) return NotFound(name);
  if (found->second.state() != "ACTIVE" || operations_.PendingFor(name) != nullptr) {
    return FailedPrecondition(fmt::format(
        "The queued resource '{}' cannot be reset while it is {}.", name, found->second.state()));
  }
  for (const std::string& node_name : NodesOf(name, found->second)) {
    if (!context.failure.is_null()) break;
    Node& node = nodes_.at(node_name);
    if (node.resource["state"].AsString() != "READY") continue;
    node.resource.Set("state", "RESTARTING");
    node.resource.Erase("health");
    farm_->PowerOff(node.uid);
    static_cast<void>(SaveNode(node_name));  // Begin writes too, and reports a full disk
  }
  return Begin(place, "reset", name, Value(), context);
}

Answer Service::MaintainQueued(const Place& place, const std::string& id,
                               const Value::List& node_names, const CallContext& context) {
  const std::string name = QueuedName(place, id);
  std::lock_guard lock(mutex_);
  const auto found = queue_.find(name);
  if (found == queue_.end()) return NotFound(name);
  const std::vector<std::string> own = NodesOf(name, found->second);
  Value::List chosen;
  for (const Value& given : node_names) {
    const std::string node = fmt::format("{}/nodes/{}", place.Parent(), IdOf(given.AsString()));
    if (std::find(own.begin(), own.end(), node) == own.end()) return NotFound(node);
    chosen.emplace_back(node);
  }
  if (found->second.state() != "ACTIVE" || operations_.PendingFor(name) != nullptr) {
    return FailedPrecondition(
        fmt::format("The queued resource '{}' cannot be maintained while it is {}.", name,
                    found->second.state()));
  }
  for (const Value& node : chosen) {
    if (context.failure.is_null()) {
      BeginMaintenance(node.AsString(), &nodes_.at(node.AsString()), {});
    }
  }
  return Begin(place, "maintain", name, std::move(chosen), context);
}

}  // namespace podctl::emulator
