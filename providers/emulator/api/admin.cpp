#include "providers/emulator/api/admin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "providers/emulator/api/schema.h"
#include "providers/emulator/service/times.h"

namespace podctl::emulator {
namespace {

constexpr std::size_t kMaxLines = 200;  // of each list; the API lists them all

constexpr std::string_view kVerbs = R"(
What can be done (POST; an id that two zones have needs the full name):

  curl -X POST $E/emulator/nodes/NODE:preempt      a spot node is taken back
  curl -X POST $E/emulator/nodes/NODE:terminate    any node is
  curl -X POST $E/emulator/nodes/NODE:break        health UNHEALTHY_TENSORFLOW
  curl -X POST $E/emulator/nodes/NODE:maintain     health UNHEALTHY_MAINTENANCE
  curl -X POST $E/emulator/nodes/NODE:repair       REPAIRING, its workers are off
  curl -X POST $E/emulator/nodes/NODE:heal         READY and HEALTHY again
  curl -X POST $E/emulator/queuedResources/QR:suspend
  curl -X POST $E/emulator/queuedResources/QR:fail
  curl -X POST $E/emulator/customJobs/JOB:fail     or succeed; JOB is its number or display name
  curl $E/emulator/capacity --json '{"v3-32": 0}'
  curl $E/emulator/clock --json '{"advance": "6h"}'
  curl $E/emulator/faults --json '{"method": "POST", "path": "/nodes", "status": 503}'
  curl $E/emulator/faults    curl $E/emulator/requests
)";

std::string LimitRows(const Value& limits) {
  std::string text;
  for (const auto& [kind, rules] : limits.AsMap()) {
    for (const auto& [rule, count] : rules.AsMap()) {
      text += fmt::format("  {} {}={}\n", kind, rule, count.AsInt());
    }
  }
  return text.empty() ? "  none\n" : text;
}

std::string Rows(const Value& resources, std::string (*row)(const Value&)) {
  std::string text;
  std::size_t lines = 0;
  for (const Value& resource : resources.AsList()) {
    if (++lines > kMaxLines) return text + "  …\n";
    text += fmt::format("  {:<60} {}\n", resource["name"].AsString(), row(resource));
  }
  return text.empty() ? "  none\n" : text;
}

std::string NodeRow(const Value& node) {
  return fmt::format("{:<12} {} {}", node["acceleratorType"].AsString(), node["state"].AsString(),
                     node["health"].AsString());
}

std::string QueuedRow(const Value& queued) {
  const std::int64_t nodes = queued["nodes"].AsInt();
  return fmt::format("{:<12} {}", fmt::format("{} {}", nodes, nodes == 1 ? "node" : "nodes"),
                     queued["state"].AsString());
}

// For people: what there is, and what can be done to it with curl.
std::string AdminPage(const Value& overview) {
  return fmt::format(
      "The Cloud TPU emulator of podctl. Its time is {}.\n\nNodes\n{}\nQueued resources\n{}\n"
      "Limits\n{}{}",
      overview["time"].AsString(), Rows(overview["nodes"], NodeRow),
      Rows(overview["queuedResources"], QueuedRow), LimitRows(overview["limits"]), kVerbs);
}

// Calls by POST that only read.
bool IsMutating(const HttpRequest& request, const std::string& call) {
  if (request.method == "GET" || request.method == "HEAD") return false;
  return call != "nodes.getGuestAttributes" && call != "generateServiceIdentity";
}

}  // namespace

void Admin::Count(const HttpRequest& request, const std::string& call, int status) {
  Value query = Value::EmptyMap();
  for (const auto& [name, value] : request.query) query.Set(name, value);
  Value entry = Value::Map{{"method", request.method},
                           {"path", request.path},
                           {"query", std::move(query)},
                           {"call", call},
                           {"status", status}};
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
  Value calls = Value::EmptyMap();
  for (const auto& [call, count] : by_call_) calls.Set(call, count);
  return Value::Map{{"total", total_},
                    {"mutating", mutating_},
                    {"byMethod", std::move(calls)},
                    {"recent", Value::List(recent_.begin(), recent_.end())}};
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
  return Value::Map{{"faults", faults_->ToValues()}};
}

Answer Admin::Incident(const std::string& path) {
  constexpr std::string_view kFolder = "/emulator/";
  const std::size_t colon = path.rfind(':');
  if (!path.starts_with(kFolder) || colon == std::string::npos || colon < kFolder.size()) {
    return NotFound(path);
  }
  std::string name = path.substr(kFolder.size(), colon - kFolder.size());
  Collection* collection = &service_->queued_resources;
  for (Collection* one : service_->core.collections) {
    const std::string folder = std::string(one->word) + "/";
    if (!name.starts_with(folder) && name.find("/" + folder) == std::string::npos) continue;
    collection = one;
    if (name.starts_with(folder)) name.erase(0, folder.size());
    break;
  }
  const std::vector<std::string> found = collection->NamesOf(name);
  if (found.empty()) return NotFound(name);
  if (found.size() > 1) {
    return InvalidArgument(
        fmt::format("\"{}\" may be {}; give the full name", name, fmt::join(found, " or ")));
  }
  return collection->Incident(found.front(), path.substr(colon + 1));
}

Answer Admin::SetCapacity(const Value& body) {
  Limits& limits = service_->core.capacity.limits;
  for (const auto& [pool, count] : body.AsMap()) {
    const auto set = limits.SetCapacity(fmt::format("{}={}", pool, count.AsInt(-1)));
    if (!set) return InvalidArgument(set.error().message);
    service_->queue.Hear(NodeOwner::Event::kCapacity, {});
  }
  return limits.ToValue();
}

Answer Admin::Route(const HttpRequest& request, const Value& body) {
  const std::string& path = request.path;
  const bool posts = request.method == "POST";
  const bool gets = request.method == "GET";
  const bool deletes = request.method == "DELETE";
  if (path == "/emulator/requests" && (gets || deletes)) return Requests(request);
  if (path == "/emulator/faults" && (gets || deletes || posts)) return Faults(request, body);
  const auto lock = service_->Lock();
  if (path == "/emulator/capacity" && (gets || posts)) return SetCapacity(posts ? body : Value());
  if (path == "/emulator/projectMetadata" && (gets || posts)) {
    if (posts) service_->logins.SetProjectMetadata(body);
    return service_->logins.project_metadata();
  }
  if (!posts) return NotFound(path);
  if (path == "/emulator/clock") {
    const auto by = ReadDuration(body["advance"].AsString());
    if (!by) return InvalidArgument("`advance` must be a duration such as 90s, 10m or 1h30m");
    service_->Advance(*by);
    return Value::Map{{"time", service_->core.clock.Timestamp()}};
  }
  const std::string& node = body["node"].AsString();
  if (path == "/emulator/workers") {
    return service_->nodes.ActOnWorker(node, static_cast<int>(body["worker"].AsInt()),
                                       body["action"].AsString());
  }
  if (path == "/emulator/nodes") {
    return service_->nodes.Afflict(node, body["state"].AsString(), body["health"].AsString());
  }
  return Incident(path);
}

HttpReply Admin::Handle(const HttpRequest& request) {
  HttpReply reply;
  if (request.method == "GET" && (request.path == "/emulator" || request.path == "/emulator/")) {
    reply.content_type = "text/plain; charset=UTF-8";
    const auto lock = service_->Lock();
    reply.body = AdminPage(service_->Overview());
    return reply;
  }
  const Result<Value> body = ParseLenientJson(request.body);
  Show(body ? Route(request, *body) : Answer(InvalidArgument(body.error().message)), &reply);
  return reply;
}

}  // namespace podctl::emulator
