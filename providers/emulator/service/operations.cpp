#include "providers/emulator/service/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "providers/emulator/service/core.h"

namespace podctl::emulator {
namespace {

constexpr std::int64_t kRetryMs = 20;  // between two looks at machines that still boot

std::string NewOperationName(const Place& place, std::int64_t now) {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  const std::uint64_t mixed = engine();
  const std::uint64_t other = engine() >> 12U;
  return place.Name("operations", fmt::format("operation-{}-{:013x}-{:08x}-{:08x}", now, other,
                                              static_cast<std::uint32_t>(mixed >> 32U),
                                              static_cast<std::uint32_t>(mixed)));
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

// The key under which a request's operation is found again; "" without a request id.
std::string RequestKey(const Call& call) {
  if (call.request_id.empty()) return {};
  return fmt::format("{} {} {}", call.name, call.place.Parent(), call.request_id);
}

}  // namespace

Value TypedEmpty() {
  return Value::Map{{"@type", "type.googleapis.com/google.protobuf.Empty"}};
}

Value Typed(Value view, std::string_view type, ApiVersion version) {
  view.Set("@type",
           fmt::format("type.googleapis.com/google.cloud.tpu.{}.{}", VersionName(version), type));
  return view;
}

Value Operation::ToWire() const {
  Value metadata = Typed({}, "OperationMetadata", version);
  metadata.Set("createTime", create_time);
  if (done) metadata.Set("endTime", end_time);
  metadata.Set("target", target);
  metadata.Set("verb", verb);
  if (cancel_requested) metadata.Set("cancelRequested", true);
  metadata.Set("apiVersion", VersionName(version));
  Value wire = Value::Map{{"name", name}, {"metadata", std::move(metadata)}, {"done", done}};
  if (done && !error.is_null()) wire.Set("error", error);
  if (done && error.is_null()) wire.Set("response", response);
  return wire;
}

Operations::Operations(Core* core) : core_(core), table_(core->journal, "operation") {}

void Operations::Restore(const std::string& name, const Value& record) {
  const Operation& operation = table_.Restore(name, record);
  if (!operation.request.empty()) requests_[operation.request] = name;
  if (operation.done) {
    finished_[operation.end_time + name] = name;
  } else {
    pending_[operation.target] = name;
    agenda_.emplace(operation.due_ms, name);
  }
}

Answer Operations::Begin(const Call& call, std::string_view verb, const std::string& target,
                         Value payload) {
  Operation operation;
  operation.name = NewOperationName(call.place, core_->clock.NowMs());
  operation.verb = verb;
  operation.target = target;
  operation.version = call.version;
  operation.request = RequestKey(call);
  operation.create_time = core_->clock.Timestamp();
  operation.due_ms = core_->clock.NowMs() + core_->DelayMs();
  operation.payload = std::move(payload);
  operation.failure = call.failure;
  const std::string name = operation.name;
  pending_[target] = name;
  if (!operation.request.empty()) requests_[operation.request] = name;
  const Operation& kept = table_.rows()[name] = std::move(operation);
  if (auto written = table_.Save(name); !written) return Unavailable(written.error().message);
  agenda_.emplace(kept.due_ms, name);
  core_->changed.notify_all();
  return kept.ToWire();
}

std::optional<Answer> Operations::Replay(const Call& call, const std::string& target) {
  if (call.request_id.empty()) return std::nullopt;
  if (!IsUuid(call.request_id)) {
    return FieldViolation("request_id",
                          fmt::format("The request id \"{}\" is no UUID.", call.request_id));
  }
  const auto found = requests_.find(RequestKey(call));
  const Operation* known = found == requests_.end() ? nullptr : table_.Find(found->second);
  if (known == nullptr) return std::nullopt;
  if (known->target == target) return known->ToWire();
  return FieldViolation(
      "request_id",
      fmt::format("The request id \"{}\" was used for another resource.", call.request_id));
}

Operation* Operations::PendingFor(const std::string& target) {
  const auto found = pending_.find(target);
  return found == pending_.end() ? nullptr : table_.Find(found->second);
}

void Operations::Abort(const std::string& target, std::string_view why, bool deletion_too) {
  Operation* const pending = PendingFor(target);
  if (pending == nullptr || (pending->verb == "delete" && !deletion_too)) return;
  Fail(pending, MakeStatus("ABORTED", fmt::format("'{}' is {}.", target, why)).RpcStatus());
}

void Operations::Finish(Operation* operation) {
  operation->done = true;
  operation->end_time = core_->clock.Timestamp();
  operation->payload = Value();
  const auto pending = pending_.find(operation->target);
  if (pending != pending_.end() && pending->second == operation->name) pending_.erase(pending);
  finished_[operation->end_time + operation->name] = operation->name;
  table_.Keep(operation->name);
  while (finished_.size() > kMaxKept) Forget(finished_.begin()->second);
}

void Operations::Succeed(Operation* operation, Value response) {
  operation->response = std::move(response);
  Finish(operation);
}

void Operations::Fail(Operation* operation, Value error) {
  operation->error = std::move(error);
  Finish(operation);
}

void Operations::EndAs(Operation* operation, Value status, Value response) {
  if (status["code"].AsInt() == 0) {
    Succeed(operation, std::move(response));
  } else {
    Fail(operation, std::move(status));
  }
}

void Operations::Forget(const std::string& name) {
  const Operation forgotten = table_.at(name);
  finished_.erase(forgotten.end_time + forgotten.name);
  requests_.erase(forgotten.request);
  table_.Erase(forgotten.name);
}

void Operations::Run(std::int64_t now) {
  std::vector<std::string> again;
  while (NextDue() <= now) {
    const std::string name = agenda_.begin()->second;
    agenda_.erase(agenda_.begin());
    Operation* operation = table_.Find(name);
    if (operation == nullptr || operation->done) continue;
    Collection* const collection = core_->CollectionFor(operation->target);
    if (collection != nullptr && !collection->Settle(operation)) again.push_back(name);
  }
  for (const std::string& name : again) agenda_.emplace(now + kRetryMs, name);
}

std::int64_t Operations::NextDue() const {
  return agenda_.empty() ? kNever : agenda_.begin()->first;
}

void Operations::Shift(std::int64_t before, std::int64_t by_ms) {
  const std::int64_t now = core_->clock.NowMs();
  for (auto& [name, operation] : table_.rows()) {
    if (operation.done) continue;
    operation.due_ms =
        operation.due_ms <= before ? operation.due_ms + by_ms : std::max(operation.due_ms, now);
  }
}

Answer Operations::List(const Call& call) const {
  Page page("operations", call.page);
  EachOfPage(
      table_.rows(), call.place.Name("operations", ""), call.page,
      [&](const auto& name, const auto& operation) { return page.Add(name, operation.ToWire()); });
  return page.Take();
}

Answer Operations::Get(const Call& call) {
  const Operation* operation = table_.Find(call.Target());
  if (operation == nullptr) return NotFound(call.Target());
  return operation->ToWire();
}

Answer Operations::Delete(const Call& call) {
  const Operation* operation = table_.Find(call.Target());
  if (operation == nullptr) return NotFound(call.Target());
  if (!operation->done) {
    return FailedPrecondition(fmt::format("'{}' has not ended yet.", operation->name));
  }
  Forget(operation->name);
  return Value::EmptyMap();
}

Answer Operations::Cancel(const Call& call) {
  Operation* operation = table_.Find(call.Target());
  if (operation == nullptr) return NotFound(call.Target());
  if (operation->done) return Value::EmptyMap();
  operation->cancel_requested = true;
  // Best effort: what is on its way down or up goes on; a create or an update is taken back.
  if (operation->verb != "create" && operation->verb != "update") return Value::EmptyMap();
  Collection* const collection = core_->CollectionFor(operation->target);
  if (operation->verb == "create" && collection != nullptr) collection->Withdraw(operation->target);
  Fail(operation,
       MakeStatus("CANCELLED", "The operation was cancelled by the client.").RpcStatus());
  return Value::EmptyMap();
}

}  // namespace podctl::emulator
