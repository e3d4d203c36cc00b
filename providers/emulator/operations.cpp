#include "providers/emulator/operations.h"

#include <fmt/format.h>

#include <random>
#include <utility>

namespace podctl::emulator {
namespace {

std::string NewName(const Place& place, std::int64_t now) {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  const std::uint64_t mixed = engine();
  return fmt::format("{}/operations/operation-{}-{:013x}-{:08x}-{:08x}", place.Parent(), now,
                     engine() >> 12U, static_cast<std::uint32_t>(mixed >> 32U),
                     static_cast<std::uint32_t>(mixed));
}

}  // namespace

Value Operation::ToWire() const {
  Value metadata;
  metadata.Set("@type", fmt::format("type.googleapis.com/google.cloud.tpu.{}.OperationMetadata",
                                    VersionName(version)));
  metadata.Set("createTime", create_time);
  if (done) metadata.Set("endTime", end_time);
  metadata.Set("target", target);
  metadata.Set("verb", verb);
  if (cancel_requested) metadata.Set("cancelRequested", true);
  metadata.Set("apiVersion", VersionName(version));
  Value wire;
  wire.Set("name", name);
  wire.Set("metadata", std::move(metadata));
  wire.Set("done", done);
  if (done && !error.is_null()) wire.Set("error", error);
  if (done && error.is_null()) wire.Set("response", response);
  return wire;
}

Value Operation::ToRecord() const {
  Value record;
  record.Set("name", name);
  record.Set("verb", verb);
  record.Set("target", target);
  record.Set("version", VersionName(version));
  if (!request.empty()) record.Set("request", request);
  record.Set("createTime", create_time);
  record.Set("endTime", end_time);
  record.Set("dueMs", due_ms);
  record.Set("done", done);
  record.Set("cancelRequested", cancel_requested);
  record.Set("payload", payload);
  record.Set("failure", failure);
  record.Set("error", error);
  record.Set("response", response);
  return record;
}

Operation Operation::FromRecord(const Value& record) {
  Operation operation;
  operation.name = record["name"].AsString();
  operation.verb = record["verb"].AsString();
  operation.target = record["target"].AsString();
  operation.version = VersionOf(record["version"].AsString());
  operation.request = record["request"].AsString();
  operation.create_time = record["createTime"].AsString();
  operation.end_time = record["endTime"].AsString();
  operation.due_ms = record["dueMs"].AsInt();
  operation.done = record["done"].AsBool();
  operation.cancel_requested = record["cancelRequested"].AsBool();
  operation.payload = record["payload"];
  operation.failure = record["failure"];
  operation.error = record["error"];
  operation.response = record["response"];
  return operation;
}

void OperationTable::Restore(Operation operation) {
  if (!operation.request.empty()) requests_[operation.request] = operation.name;
  if (operation.done) {
    finished_[operation.end_time + operation.name] = operation.name;
  } else {
    pending_[operation.target] = operation.name;
  }
  operations_[operation.name] = std::move(operation);
}

Operation& OperationTable::Begin(const Place& place, std::string_view verb,
                                 const std::string& target, std::int64_t due_ms, Value payload) {
  Operation operation;
  operation.name = NewName(place, clock_->NowMs());
  operation.verb = verb;
  operation.target = target;
  operation.create_time = clock_->Timestamp();
  operation.due_ms = due_ms;
  operation.payload = std::move(payload);
  pending_[target] = operation.name;
  Operation& kept = operations_[operation.name];
  kept = std::move(operation);
  return kept;
}

void OperationTable::NameRequest(Operation* operation, const std::string& request) {
  operation->request = request;
  if (!request.empty()) requests_[request] = operation->name;
}

Operation* OperationTable::FindRequest(const std::string& request) {
  const auto found = requests_.find(request);
  return found == requests_.end() ? nullptr : Find(found->second);
}

Result<void> OperationTable::Save(const Operation& operation) {
  return journal_->Put("operation:" + operation.name, operation.ToRecord());
}

void OperationTable::Finish(Operation* operation) {
  operation->done = true;
  operation->end_time = clock_->Timestamp();
  operation->payload = Value();
  const auto pending = pending_.find(operation->target);
  if (pending != pending_.end() && pending->second == operation->name) pending_.erase(pending);
  finished_[operation->end_time + operation->name] = operation->name;
  // A disk that is full shows at the next request, which can answer with the reason.
  static_cast<void>(Save(*operation));
  while (finished_.size() > kMaxKept) Forget(finished_.begin()->second);
}

void OperationTable::Succeed(Operation* operation, Value response) {
  operation->response = std::move(response);
  Finish(operation);
}

void OperationTable::Fail(Operation* operation, Value error) {
  operation->error = std::move(error);
  Finish(operation);
}

void OperationTable::EndAs(Operation* operation, Value status, Value response) {
  if (status["code"].AsInt() == 0) {
    Succeed(operation, std::move(response));
  } else {
    Fail(operation, std::move(status));
  }
}

Operation* OperationTable::Find(const std::string& name) {
  const auto found = operations_.find(name);
  return found == operations_.end() ? nullptr : &found->second;
}

Operation* OperationTable::PendingFor(const std::string& target) {
  const auto found = pending_.find(target);
  return found == pending_.end() ? nullptr : Find(found->second);
}

void OperationTable::Forget(const std::string& name) {
  // `name` may lie in what is erased below.
  const std::string kept = name;  // NOLINT(performance-unnecessary-copy-initialization)
  const auto found = operations_.find(name);
  if (found == operations_.end()) return;
  finished_.erase(found->second.end_time + kept);
  requests_.erase(found->second.request);
  static_cast<void>(journal_->Erase("operation:" + kept));
  operations_.erase(found);
}

Value OperationTable::List(const Place& place, const PageRequest& page) const {
  const std::string prefix = place.Parent() + "/operations/";
  Value::List listed;
  std::string next;
  auto at =
      page.after.empty() ? operations_.lower_bound(prefix) : operations_.upper_bound(page.after);
  for (; at != operations_.end() && at->first.rfind(prefix, 0) == 0; ++at) {
    if (static_cast<int>(listed.size()) == PageLimit(page)) {
      next = MakePageToken(listed.back()["name"].AsString());
      break;
    }
    listed.push_back(at->second.ToWire());
  }
  Value answer = Value::EmptyMap();
  if (!listed.empty()) answer.Set("operations", std::move(listed));
  if (!next.empty()) answer.Set("nextPageToken", next);
  return answer;
}

}  // namespace podctl::emulator
