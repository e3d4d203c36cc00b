#include "providers/emulator/admin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/admin_page.h"
#include "providers/emulator/duration.h"
#include "providers/emulator/lenient_json.h"

namespace podctl::emulator {
namespace {

// Calls by POST that only read.
bool IsMutating(const HttpRequest& request, const std::string& call) {
  if (request.method == "GET" || request.method == "HEAD") return false;
  return call != "nodes.getGuestAttributes" && call != "generateServiceIdentity";
}

}  // namespace

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
  if (request.method == "DELETE") faults_->Clear();
  if (request.method == "POST") {
    auto fault = ReadFault(body);
    if (const auto* problem = std::get_if<FaultProblem>(&fault)) {
      return InvalidArgument(problem->message);
    }
    if (!faults_->Add(std::get<Fault>(std::move(fault)))) {
      return InvalidArgument("there are too many faults");
    }
  }
  Value answer;
  answer.Set("faults", faults_->ToValues());
  return answer;
}

Answer Admin::Strike(const HttpRequest& request) {
  constexpr std::string_view kFolder = "/emulator/";
  if (!request.path.starts_with(kFolder)) return NotFound(request.path);
  std::string name = request.path.substr(kFolder.size());
  const std::size_t colon = name.rfind(':');
  if (colon == std::string::npos) return NotFound(request.path);
  const std::string verb = name.substr(colon + 1);
  name.resize(colon);
  const auto of = [&](std::string_view folder) {
    return name.rfind(folder, 0) == 0 || name.find("/" + std::string(folder)) != std::string::npos;
  };
  const bool of_nodes = of("nodes/");
  const bool of_jobs = of("customJobs/");
  for (const std::string_view folder : {"nodes/", "queuedResources/", "customJobs/"}) {
    if (name.rfind(folder, 0) == 0) name.erase(0, folder.size());
  }
  const std::vector<std::string> found = of_nodes  ? service_->FindNodes(name)
                                         : of_jobs ? service_->FindJobs(name)
                                                   : service_->FindQueued(name);
  if (found.empty()) return NotFound(name);
  if (found.size() > 1) {
    return InvalidArgument(
        fmt::format("\"{}\" may be {}; give the full name", name, fmt::join(found, " or ")));
  }
  if (of_jobs) return service_->StrikeJob(found.front(), verb);
  return of_nodes ? service_->StrikeNode(found.front(), verb)
                  : service_->StrikeQueued(found.front(), verb);
}

Answer Admin::Capacity(const Value& body) {
  Answer answer = service_->Overview()["limits"];
  for (const auto& [pool, count] : body.AsMap()) {
    answer = service_->SetCapacity(fmt::format("{}={}", pool, count.AsInt(-1)));
    if (std::holds_alternative<ApiError>(answer)) break;
  }
  return answer;
}

Answer Admin::Clock(const Value& body) {
  const auto by = ReadDuration(body["advance"].AsString());
  if (!by) return InvalidArgument("`advance` must be a duration such as 90s, 10m or 1h30m");
  service_->Advance(*by);
  Value answer;
  answer.Set("time", service_->Overview()["time"]);
  return answer;
}

Answer Admin::Route(const HttpRequest& request, const Value& body) {
  const std::string& path = request.path;
  const bool posts = request.method == "POST";
  const bool gets = request.method == "GET";
  const bool deletes = request.method == "DELETE";
  if (path == "/emulator/requests" && (gets || deletes)) return Requests(request);
  if (path == "/emulator/faults" && (gets || deletes || posts)) return Faults(request, body);
  if (path == "/emulator/capacity" && (gets || posts)) return Capacity(posts ? body : Value());
  if (path == "/emulator/projectMetadata" && (gets || posts)) {
    if (posts) service_->SetProjectMetadata(body);
    return service_->ProjectMetadata();
  }
  if (!posts) return NotFound(path);
  if (path == "/emulator/clock") return Clock(body);
  if (path == "/emulator/workers") {
    return service_->ActOnWorker(body["node"].AsString(), static_cast<int>(body["worker"].AsInt()),
                                 body["action"].AsString());
  }
  if (path == "/emulator/nodes") {
    return service_->Afflict(body["node"].AsString(), body["state"].AsString(),
                             body["health"].AsString());
  }
  return Strike(request);
}

HttpReply Admin::Handle(const HttpRequest& request) {
  HttpReply reply;
  if (request.method == "GET" && (request.path == "/emulator" || request.path == "/emulator/")) {
    reply.content_type = "text/plain; charset=UTF-8";
    reply.body = AdminPage(service_->Overview());
    return reply;
  }
  const Result<Value> body = ParseLenientJson(request.body);
  const Answer answer =
      body ? Route(request, *body) : Answer(InvalidArgument(body.error().message));
  if (const auto* refusal = std::get_if<ApiError>(&answer)) {
    reply.status = refusal->HttpStatus();
    reply.body = ToJson(refusal->HttpBody());
  } else {
    reply.body = ToJson(std::get<Value>(answer));
  }
  return reply;
}

}  // namespace podctl::emulator
