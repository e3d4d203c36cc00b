#include "providers/emulator/admin.h"

#include <fmt/format.h>

#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/lenient_json.h"

namespace podctl::emulator {
namespace {

// Calls by POST that only read.
bool IsMutating(const HttpRequest& request, const std::string& call) {
  if (request.method == "GET" || request.method == "HEAD") return false;
  return call != "nodes.getGuestAttributes" && call != "generateServiceIdentity";
}

std::variant<Fault, ApiError> ReadFault(const Value& body) {
  Fault fault;
  fault.method = body["method"].AsString();
  fault.path = body["path"].AsString();
  fault.times = static_cast<int>(body["times"].AsInt(1));
  fault.status = static_cast<int>(body["status"].AsInt());
  fault.message = body["message"].AsString();
  fault.drop = body["drop"].AsString();
  fault.delay_ms = static_cast<int>(body["delayMs"].AsInt());
  fault.operation_error = body["operationError"];
  const int kinds = (fault.status != 0 ? 1 : 0) + (fault.drop.empty() ? 0 : 1) +
                    (fault.delay_ms != 0 ? 1 : 0) + (fault.operation_error.is_map() ? 1 : 0);
  if (kinds != 1) {
    return InvalidArgument("exactly one of status, drop, delayMs and operationError must be set");
  }
  if (fault.times < 1 || fault.delay_ms < 0 || fault.delay_ms > Admin::kMaxDelayMs ||
      (fault.status != 0 && (fault.status < 400 || fault.status > 599)) ||
      (!fault.drop.empty() && fault.drop != "before" && fault.drop != "after")) {
    return InvalidArgument("the fault has a value out of range");
  }
  return fault;
}

}  // namespace

Value Fault::ToValue() const {
  Value value;
  value.Set("method", method);
  value.Set("path", path);
  value.Set("times", times);
  if (status != 0) value.Set("status", status);
  if (!message.empty()) value.Set("message", message);
  if (!drop.empty()) value.Set("drop", drop);
  if (delay_ms != 0) value.Set("delayMs", delay_ms);
  if (!operation_error.is_null()) value.Set("operationError", operation_error);
  return value;
}

void Admin::Count(const HttpRequest& request, const std::string& call, int status) {
  Value entry;
  entry.Set("method", request.method);
  entry.Set("path", request.path);
  Value query = Value::EmptyMap();
  for (const auto& [name, value] : request.query) query.Set(name, value);
  entry.Set("query", std::move(query));
  entry.Set("call", call);
  entry.Set("status", status);
  std::lock_guard lock(mutex_);
  ++total_;
  if (IsMutating(request, call)) ++mutating_;
  ++by_call_[call];
  recent_.push_back(std::move(entry));
  if (recent_.size() > kRecent) recent_.pop_front();
}

std::optional<Fault> Admin::Take(const HttpRequest& request) {
  std::lock_guard lock(mutex_);
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    const bool fits = (fault->method.empty() || fault->method == request.method) &&
                      request.path.find(fault->path) != std::string::npos;
    if (!fits) continue;
    Fault met = *fault;
    if (--fault->times == 0) faults_.erase(fault);
    return met;
  }
  return std::nullopt;
}

Answer Admin::Requests(const HttpRequest& request) {
  std::lock_guard lock(mutex_);
  if (request.method == "DELETE") {
    total_ = mutating_ = 0;
    by_call_.clear();
    recent_.clear();
  }
  Value answer;
  answer.Set("total", total_);
  answer.Set("mutating", mutating_);
  Value calls = Value::EmptyMap();
  for (const auto& [call, count] : by_call_) calls.Set(call, count);
  answer.Set("byMethod", std::move(calls));
  answer.Set("recent", Value::List(recent_.begin(), recent_.end()));
  return answer;
}

Answer Admin::Faults(const HttpRequest& request, const Value& body) {
  std::lock_guard lock(mutex_);
  if (request.method == "DELETE") faults_.clear();
  if (request.method == "POST") {
    auto fault = ReadFault(body);
    if (auto* refusal = std::get_if<ApiError>(&fault)) return std::move(*refusal);
    if (faults_.size() == kMaxFaults) return InvalidArgument("there are too many faults");
    faults_.push_back(std::get<Fault>(std::move(fault)));
  }
  Value::List list;
  for (const Fault& fault : faults_) list.push_back(fault.ToValue());
  Value answer;
  answer.Set("faults", std::move(list));
  return answer;
}

HttpReply Admin::Handle(const HttpRequest& request) {
  Answer answer = NotFound(request.path);
  const Result<Value> body = ParseLenientJson(request.body);
  const bool posts = request.method == "POST";
  const bool known = posts || request.method == "GET" || request.method == "DELETE";
  if (!body) {
    answer = InvalidArgument(body.error().message);
  } else if (request.path == "/emulator/requests" && known && !posts) {
    answer = Requests(request);
  } else if (request.path == "/emulator/faults" && known) {
    answer = Faults(request, *body);
  } else if (request.path == "/emulator/workers" && posts) {
    answer = service_->ActOnWorker((*body)["node"].AsString(),
                                   static_cast<int>((*body)["worker"].AsInt()),
                                   (*body)["action"].AsString());
  } else if (request.path == "/emulator/nodes" && posts) {
    answer = service_->Afflict((*body)["node"].AsString(), (*body)["state"].AsString(),
                               (*body)["health"].AsString());
  }
  HttpReply reply;
  if (const auto* refusal = std::get_if<ApiError>(&answer)) {
    reply.status = refusal->HttpStatus();
    reply.body = ToJson(refusal->HttpBody());
  } else {
    reply.body = ToJson(std::get<Value>(answer));
  }
  return reply;
}

}  // namespace podctl::emulator
