#include "tests/gcloud/wire_cloud.h"

#include <fmt/format.h>

#include <charconv>

#include "providers/base/json.h"

namespace podctl::testing {
namespace {

std::string Decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16);
      plain += static_cast<char>(code);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

WireCloud::Request Parsed(const http::Request& request) {
  WireCloud::Request parsed;
  parsed.method = request.method;
  std::string_view url = request.url;
  url.remove_prefix(url.find('/', url.find("://") + 3));
  const auto mark = url.find('?');
  parsed.path = Decoded(url.substr(0, mark));
  std::string_view query = mark == std::string_view::npos ? "" : url.substr(mark + 1);
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    const auto equals = one.find('=');
    if (one.substr(0, equals) == "alt") continue;
    parsed.query.emplace_back(Decoded(one.substr(0, equals)), Decoded(one.substr(equals + 1)));
  }
  if (!request.body.empty()) parsed.body = ParseJson(request.body).value_or(Value());
  return parsed;
}

std::string Parameter(const WireCloud::Request& request, std::string_view name) {
  for (const auto& [key, value] : request.query) {
    if (key == name) return value;
  }
  return {};
}

// "network_config.enable_external_ips" -> "networkConfig.enableExternalIps".
std::string JsonPath(std::string_view mask) {
  std::string path;
  bool upper = false;
  for (char c : mask) {
    if (c != '_') path += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = c == '_';
  }
  return path;
}

void Patch(const WireCloud::Request& request, Value* node) {
  const std::string masks = Parameter(request, "updateMask");
  for (std::string_view rest = masks; !rest.empty();) {
    const std::string path = JsonPath(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(
        rest.size(), rest.find(',') == std::string_view::npos ? rest.size() : rest.find(',') + 1));
    const Value* value = request.body.FindPath(path);
    value == nullptr ? node->ErasePath(path) : node->SetPath(path, *value);
  }
}

}  // namespace

Value WireCloud::Begin(const std::string& target, const std::string& verb) {
  const auto zone = target.find("/locations/") + std::string_view("/locations/").size();
  const auto parent = target.substr(0, target.find('/', zone));
  Value operation;
  operation.Set("name", parent + "/operations/operation-" + std::to_string(++serial_));
  operation.SetPath("metadata.target", target);
  operation.SetPath("metadata.verb", verb);
  operation.SetPath("metadata.createTime", "2026-11-20T14:30:00Z");
  Value done = operation;
  done.Set("done", true);
  operations_[operation["name"].AsString()] = std::move(done);
  return operation;
}

Value WireCloud::List(const std::string& member, const std::map<std::string, Value>& items) const {
  Value::List list;
  for (const auto& [name, item] : items) list.push_back(item);
  Value answer = Value::EmptyMap();
  if (!list.empty()) answer.Set(member, Value(std::move(list)));
  return answer;
}

Value WireCloud::AnswerNode(const Request& request, const std::string& name,
                            const std::string& verb, int* status) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) {
    *status = 404;
    return *ParseJson(R"({"error":{"code":404,"status":"NOT_FOUND","message":"not found"}})");
  }
  if (verb == "getGuestAttributes") return Value::EmptyMap();
  if (verb == "stop" || verb == "start") {
    node->second.Set("state", verb == "stop" ? "STOPPED" : "READY");
    return Begin(name, verb);
  }
  if (request.method == "PATCH") {
    Patch(request, &node->second);
    return Begin(name, "update");
  }
  if (request.method == "DELETE") {
    nodes_.erase(node);
    return Begin(name, "delete");
  }
  return node->second;
}

Value WireCloud::MakeNode(const std::string& name, Value node) {
  node.Set("name", name);
  node.Set("id", std::to_string(4711 + ++serial_));
  node.Set("state", "READY");
  node.Set("networkEndpoints", *ParseJson(R"([{"ipAddress":"10.164.0.2","port":8470}])"));
  return node;
}

// What is asked for is there at once, all its slices too.
Value WireCloud::AnswerQueued(const Request& request, const std::string& name) {
  const bool all = name.ends_with("/queuedResources");
  if (request.method == "GET") return all ? List("queuedResources", queued_) : queued_[name];
  const std::string made = name + "/" + Parameter(request, "queuedResourceId");
  Value queued = request.body;
  queued.Set("name", made);
  queued.SetPath("state.state", "ACTIVE");
  const std::string nodes = name.substr(0, name.rfind('/')) + "/nodes/";
  const Value& spec = queued["tpu"]["nodeSpec"].AsList().at(0);
  Value node = spec["node"];
  node.Set("queuedResource", made);
  if (spec.Find("nodeId") != nullptr) {
    const std::string id = nodes + spec["nodeId"].AsString();
    nodes_[id] = MakeNode(id, node);
  }
  for (const char* params : {"multisliceParams", "multiNodeParams"}) {
    node.Set("multisliceNode", true);
    for (int i = 0; i < spec[params]["nodeCount"].AsInt(); ++i) {
      const std::string id =
          fmt::format("{}{}-{}", nodes, spec[params]["nodeIdPrefix"].AsString(), i);
      nodes_[id] = MakeNode(id, node);
    }
  }
  queued_[made] = std::move(queued);
  return Begin(made, "create");
}

Value WireCloud::Answer(const Request& request, int* status) {
  const auto resource = request.path.find("/projects/") + 1;
  std::string name = request.path.substr(resource);
  std::string verb;
  if (const auto colon = name.find(':'); colon != std::string::npos) {
    verb = name.substr(colon + 1);
    name.resize(colon);
  }
  if (verb == "generateServiceIdentity") {
    Value identity;
    identity.SetPath("identity.email", "service-1@gcp-sa-tpu.iam.gserviceaccount.com");
    return identity;
  }
  if (name.find("/operations/") != std::string::npos) return operations_[name];
  if (name.ends_with("/operations")) return List("operations", operations_);
  if (name.find("/nodes/") != std::string::npos) return AnswerNode(request, name, verb, status);
  if (name.ends_with("/nodes") && request.method == "GET") return List("nodes", nodes_);
  if (name.ends_with("/nodes")) {
    const std::string made = name + "/" + Parameter(request, "nodeId");
    nodes_[made] = MakeNode(made, request.body);
    return Begin(made, "create");
  }
  if (name.find("/queuedResources") != std::string::npos) return AnswerQueued(request, name);
  return Value::EmptyMap();
}

Result<http::Response> WireCloud::Send(const http::Request& request, std::stop_token stop) {
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped");
  std::lock_guard lock(mutex_);
  requests_.push_back(Parsed(request));
  int status = 200;
  const Value answer = Answer(requests_.back(), &status);
  return http::Response{status, {}, ToJson(answer)};
}

std::vector<WireCloud::Request> WireCloud::Requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

void WireCloud::Forget() {
  std::lock_guard lock(mutex_);
  requests_.clear();
}

}  // namespace podctl::testing
