#include "providers/emulator/service/queue_rules.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "providers/emulator/service/node_rules.h"
#include "providers/emulator/service/times.h"

namespace podctl::emulator {
namespace {

// v2 calls it multisliceParams, v2alpha1 multiNodeParams.
const Value* SliceParams(const Value& spec) {
  const Value* params = spec.Find("multisliceParams");
  return params != nullptr ? params : spec.Find("multiNodeParams");
}

Refusal CheckSpec(const Place& place, const Value& spec) {
  const std::string& parent = spec["parent"].AsString();
  if (parent.empty()) return BadRequest("The parent of the node spec must be set.");
  const std::string by_number = Place{ProjectNumber(place.project), place.zone}.Parent();
  if (parent != place.Parent() && parent != by_number) {
    return BadRequest(fmt::format(
        "The parent \"{}\" of the node spec is not the one of the queued resource, \"{}\".", parent,
        place.Parent()));
  }
  if (spec.Find("node") == nullptr) return BadRequest("The node of the node spec must be set.");
  const Value* params = SliceParams(spec);
  const std::string& id = spec["nodeId"].AsString();
  if (id.empty() == (params == nullptr)) {
    return BadRequest(
        "Either the node id or the multislice parameters of the node spec must be set.");
  }
  if (params == nullptr) return std::nullopt;
  const std::int64_t count = (*params)["nodeCount"].AsInt();
  if (count < 2 || count > kMaxSlices) {
    return BadRequest(
        fmt::format("The node count {} is not in the range 2 to {}.", count, kMaxSlices));
  }
  return std::nullopt;
}

// One entry a node, named; the parameters that said how many have done their work.
Value::List ExpandSpecs(std::string_view id, const Value::List& specs) {
  Value::List expanded;
  for (const Value& spec : specs) {
    const Value* params = SliceParams(spec);
    if (params == nullptr) {
      expanded.push_back(spec);
      continue;
    }
    const std::string& given = (*params)["nodeIdPrefix"].AsString();
    const std::string prefix = given.empty() ? std::string(id) : given;
    for (std::int64_t i = 0; i < (*params)["nodeCount"].AsInt(); ++i) {
      Value one = spec;
      one.Erase("multisliceParams");
      one.Erase("multiNodeParams");
      one.Set("nodeId", fmt::format("{}-{}", prefix, i));
      expanded.push_back(std::move(one));
    }
  }
  return expanded;
}

Refusal ReadPolicy(const Value& policy, std::int64_t now_ms, Queued* made) {
  const auto at = [&](std::string_view path) -> std::int64_t {
    const Value* text = policy.FindPath(path);
    return text == nullptr ? 0 : TimestampMs(text->AsString()).value_or(0);
  };
  const auto in = [&](std::string_view key) -> std::int64_t {
    const Value* text = policy.Find(key);
    return text == nullptr ? 0 : now_ms + DurationMs(text->AsString()).value_or(0);
  };
  for (const std::int64_t time :
       {at("validAfterTime"), at("validInterval.startTime"), in("validAfterDuration")}) {
    if (time != 0) made->not_before_ms = time;
  }
  for (const std::int64_t time :
       {at("validUntilTime"), at("validInterval.endTime"), in("validUntilDuration")}) {
    if (time != 0) made->not_after_ms = time;
  }
  if (made->not_after_ms != 0 && made->not_after_ms <= now_ms) {
    return BadRequest("The queueing policy ends in the past.");
  }
  if (made->not_after_ms != 0 && made->not_before_ms > made->not_after_ms) {
    return BadRequest("The queueing policy's interval ends before it begins.");
  }
  return std::nullopt;
}

void ReadRunDuration(const Value& run, std::int64_t now_ms, Queued* made) {
  if (const Value* text = run.Find("maxRunDuration")) {
    made->run_ms = DurationMs(text->AsString()).value_or(0);
  } else if (const Value* time = run.Find("terminationTime")) {
    made->run_ms = TimestampMs(time->AsString()).value_or(now_ms) - now_ms;
  }
}

// Each node is checked as a nodes.create would check it, before anything waits for it.
Refusal CheckNodes(const Place& place, ApiVersion version, Queued* made) {
  const Value::List& specs = made->resource["tpu"]["nodeSpec"].AsList();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    NewNodeAnswer answer =
        MakeNode(place, specs[i]["nodeId"].AsString(), QueuedNodeBody(*made, i), version, "");
    if (auto* refusal = std::get_if<ApiError>(&answer)) return std::move(*refusal);
    const Value& node = std::get<Node>(answer).resource;
    const std::string& generation = node["acceleratorConfig"]["type"].AsString();
    if (made->is_multislice && (generation == "V2" || generation == "V3")) {
      return UnableToComplete();
    }
    made->types.push_back(node["acceleratorType"].AsString());
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> Queued::NodeNames() const {
  std::vector<std::string> names;
  const Place place = PlaceOf(resource["name"].AsString());
  for (const Value& spec : resource["tpu"]["nodeSpec"].AsList()) {
    names.push_back(place.Name("nodes", spec["nodeId"].AsString()));
  }
  return names;
}

Value QueuedNodeBody(const Queued& queued, std::size_t index) {
  Value body = queued.resource["tpu"]["nodeSpec"].AsList()[index]["node"];
  if (queued.is_spot) body.SetPath("schedulingConfig.spot", true);
  if (!queued.reservation.empty()) body.SetPath("schedulingConfig.reserved", true);
  return body;
}

bool IsWaiting(std::string_view state) {
  return state == "ACCEPTED" || state == "WAITING_FOR_RESOURCES";
}

void SetQueuedState(Value* resource, std::string_view state, std::string_view initiator,
                    const Value& error) {
  Value reported;
  reported.Set("state", state);
  if (state != "WAITING_FOR_RESOURCES") {
    Value data = Value::EmptyMap();
    if (!error.is_null()) data.Set("error", error);
    reported.Set(LowerCase(state) + "Data", std::move(data));
  }
  if (!initiator.empty()) reported.Set("stateInitiator", initiator);
  resource->Set("state", std::move(reported));
}

Value QueuedView(const Value& resource, ApiVersion version) {
  if (version == ApiVersion::kV2Alpha1) return resource;
  Value view = resource;
  for (const std::string_view field :
       {"bestEffort", "provisioningModel", "runDuration", "trafficConfig"}) {
    view.Erase(field);
  }
  view.ErasePath("guaranteed.reserved");
  Value::List specs = view["tpu"]["nodeSpec"].AsList();
  for (Value& spec : specs) spec.Set("node", NodeView(spec["node"], version));
  view.SetPath("tpu.nodeSpec", std::move(specs));
  return view;
}

NewQueuedAnswer MakeQueued(const Place& place, std::string_view id, const Value& body,
                           ApiVersion version, std::int64_t now_ms,
                           const std::string& create_time) {
  if (!IsResourceId(id)) {
    return BadRequest(fmt::format("The queued resource id \"{}\" is invalid.", id));
  }
  const Value::List& specs = body["tpu"]["nodeSpec"].AsList();
  if (specs.empty()) return BadRequest("The TPU of the queued resource must be set.");
  for (const Value& spec : specs) {
    if (auto refusal = CheckSpec(place, spec)) return *std::move(refusal);
  }
  Queued made;
  made.version = version;
  made.arrived_ms = made.since_ms = now_ms;
  made.resource = body;
  made.resource.Set("name", place.Name("queuedResources", id));
  made.resource.Set("createTime", create_time);
  Value::List expanded = ExpandSpecs(id, specs);
  if (expanded.size() > kMaxSlices) {
    return BadRequest(fmt::format("At most {} nodes can be requested at once.", kMaxSlices));
  }
  made.is_multislice = expanded.size() > 1;
  made.resource.SetPath("tpu.nodeSpec", std::move(expanded));
  const std::string& model = body["provisioningModel"].AsString();
  made.is_spot = body.Find("spot") != nullptr || model == "SPOT";
  made.reservation = IdOf(body["reservationName"].AsString());
  const bool reserved = body["guaranteed"]["reserved"].AsBool() || model == "RESERVATION_BOUND";
  if (reserved && made.reservation.empty()) made.reservation = "-";
  if (auto refusal = ReadPolicy(body["queueingPolicy"], now_ms, &made)) return *std::move(refusal);
  ReadRunDuration(body["runDuration"], now_ms, &made);
  if (auto refusal = CheckNodes(place, version, &made)) return *std::move(refusal);
  SetQueuedState(&made.resource, "CREATING");
  return made;
}

}  // namespace podctl::emulator
