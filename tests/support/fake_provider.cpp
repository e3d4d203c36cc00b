#include "tests/support/fake_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "providers/base/encoding.h"

namespace podctl::testing {
namespace {

Error NoSuchNode(const std::string& resource) {
  return MakeError(ErrorCode::kNotFound, fmt::format("Resource '{}' was not found", resource));
}

// "network_config.enable_external_ips" -> "networkConfig.enableExternalIps".
std::string JsonPath(std::string_view mask) {
  std::string path;
  bool upper = false;
  for (char c : mask) {
    if (c == '_') {
      upper = true;
    } else {
      path += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = false;
    }
  }
  return path;
}

// The documentation of nodes.patch, and dataDisks, which gcloud and Terraform send as well.
bool IsPatchable(std::string_view path) {
  for (const char* field : {"description", "tags", "labels", "metadata",
                            "networkConfig.enableExternalIps", "dataDisks"}) {
    if (path == field) return true;
  }
  return false;
}

// Cores (or chips) after the last dash, eight a worker, as for v2 to v4: "v3-32" -> 4.
int WorkerCount(const std::string& accelerator_type) {
  const auto dash = accelerator_type.rfind('-');
  int cores = 8;
  if (dash != std::string::npos) {
    std::from_chars(accelerator_type.data() + dash + 1,
                    accelerator_type.data() + accelerator_type.size(), cores);
  }
  return std::clamp(cores / 8, 1, 4096);
}

}  // namespace

Error FakeProvider::NoCapacity(const std::string& zone) {
  return MakeError(
      ErrorCode::kResourceExhausted,
      fmt::format("There is no more capacity in the zone \"{}\"; you can try in another zone where "
                  "Cloud TPU Nodes are offered",
                  zone));
}

std::optional<Error> FakeProvider::Enter(const Call& call, const std::stop_token& stop) {
  const auto matches = [&](const auto& entry) {
    return entry.method.empty() || entry.method == call.method;
  };
  if (auto it = std::find_if(interlopers_.begin(), interlopers_.end(), matches);
      it != interlopers_.end()) {
    auto act = std::move(it->act);
    interlopers_.erase(it);
    act(*this);
  }
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped");
  calls_.push_back(call);
  std::optional<Error> struck;
  for (Fault& fault : faults_) {
    if (!matches(fault) || --fault.in > 0) continue;
    if (!struck) {
      struck = fault.error;
      --fault.times;
    }
    fault.in = 1;
  }
  std::erase_if(faults_, [](const Fault& fault) { return fault.times <= 0; });
  return struck;
}

bool FakeProvider::ReplyIsLost(const std::string& method) {
  for (Fault& fault : lost_replies_) {
    if (fault.method != method || fault.times <= 0) continue;
    --fault.times;
    return true;
  }
  return false;
}

Result<Operation> FakeProvider::Answer(const std::string& method, Operation operation) {
  if (ReplyIsLost(method)) {
    return MakeError(ErrorCode::kReplyLost, "the connection broke before the answer came");
  }
  return operation;
}

Value FakeProvider::ServerView(const NodeName& name, Value node) const {
  node.Set("name", name.Resource());
  node.Set("id", std::to_string(3'751'518'240'069'739'442 + serial_));
  node.Set("apiVersion", "V2");
  node.Set("createTime", "2026-11-20T14:30:00.123456789Z");
  for (const char* empty : {"schedulingConfig", "shieldedInstanceConfig"}) {
    if (node.Find(empty) == nullptr) node.Set(empty, Value::EmptyMap());
  }
  const std::string region = name.zone.substr(0, name.zone.rfind('-'));
  for (const auto& [path, collection] :
       {std::pair{"networkConfig.network", std::string("global/networks")},
        std::pair{"networkConfig.subnetwork", "regions/" + region + "/subnetworks"}}) {
    const Value* given = node.FindPath(path);
    const std::string text = given ? given->AsString() : "default";
    if (text.find('/') != std::string::npos) continue;
    node.SetPath(path, fmt::format("projects/{}/{}/{}", name.project, collection, text));
  }
  Value::List endpoints;
  const int workers = WorkerCount(node["acceleratorType"].AsString());
  for (int worker = 0; worker < workers; ++worker) {
    Value endpoint;
    endpoint.Set("ipAddress", fmt::format("10.164.{}.{}", worker / 250, worker % 250 + 2));
    endpoint.Set("port", 8470);
    if (options_.external_ips) {
      // 203.0.113.0/24 is for documentation (RFC 5737): nothing answers there.
      endpoint.SetPath("accessConfig.externalIp", fmt::format("203.0.113.{}", worker % 250 + 2));
    }
    endpoints.push_back(std::move(endpoint));
  }
  node.Set("networkEndpoints", std::move(endpoints));
  return node;
}

Operation FakeProvider::Start(const std::string& method, const NodeName& name, Value node,
                              std::vector<std::string> mask) {
  Work work;
  work.operation.name = fmt::format("{}/operations/operation-{}", name.Parent(), ++serial_);
  work.operation.target = name.Resource();
  work.operation.verb = method == "patch" ? "update" : method;
  // A later operation has a later time, a millisecond each.
  work.operation.create_time =
      fmt::format("2026-11-20T14:{:02}:{:02}.{:03}Z", 30 + serial_ / 60'000 % 30,
                  serial_ / 1'000 % 60, serial_ % 1'000);
  work.method = method;
  work.target = name.Resource();
  work.node = std::move(node);
  work.mask = std::move(mask);
  work.looks_left = options_.looks;
  const auto fault =
      std::find_if(operation_faults_.begin(), operation_faults_.end(),
                   [&](const OperationFault& entry) { return entry.method == method; });
  if (fault != operation_faults_.end()) {
    work.failure = fault->error;
    work.leaves_node = fault->leaves_node;
    operation_faults_.erase(fault);
  }
  if (method == "create" && sold_out.contains(name.zone)) work.failure = NoCapacity(name.zone);
  const std::string key = work.operation.name;
  Work& kept = works_[key] = std::move(work);
  if (kept.looks_left <= 0) Finish(kept);
  return kept.operation;
}

void FakeProvider::Look(Work& work) {
  if (work.operation.done) return;
  if (--work.looks_left <= 0) Finish(work);
}

void FakeProvider::LookAt(const std::string& resource) {
  for (auto& [name, work] : works_) {
    if (work.target == resource) Look(work);
  }
}

void FakeProvider::Finish(Work& work) {
  work.operation.done = true;
  auto it = nodes_.find(work.target);
  if (work.failure) {
    work.operation.error.push_back(*work.failure);
    if (it == nodes_.end()) return;
    if (work.method == "create" && !work.leaves_node) nodes_.erase(it);
    if (work.method == "delete" || work.method == "stop") it->second.Set("state", "READY");
    if (work.method == "start") it->second.Set("state", "STOPPED");
    return;
  }
  if (work.method == "delete") {
    if (it != nodes_.end()) nodes_.erase(it);
    return;
  }
  if (it == nodes_.end()) {
    work.operation.error.push_back(MakeError(ErrorCode::kCancelled, "the node was deleted"));
    return;
  }
  if (work.method == "create") {
    it->second.Set("state", "READY");
    it->second.Set("health", "HEALTHY");
  } else if (work.method == "start" || work.method == "stop") {
    it->second.Set("state", work.method == "start" ? "READY" : "STOPPED");
  } else {
    ApplyPatch(work);
  }
  work.operation.response = it->second;
}

// Each masked field is replaced as a whole; one that the body lacks is cleared.
void FakeProvider::ApplyPatch(const Work& work) {
  Value& node = nodes_[work.target];
  for (const std::string& entry : work.mask) {
    const std::string path = JsonPath(entry);
    if (const Value* value = work.node.FindPath(path)) {
      node.SetPath(path, *value);
    } else {
      node.ErasePath(path);
    }
  }
}

bool FakeProvider::IsBelow(const std::string& resource, const std::string& project,
                           const std::string& zone) {
  const std::string parent =
      zone == "-" ? "projects/" + project + "/locations" : NodeName{project, zone, {}}.Parent();
  return resource.starts_with(parent + "/");
}

Result<std::vector<Value>> FakeProvider::ListNodes(const std::string& project,
                                                   const std::string& zone, std::stop_token stop) {
  std::lock_guard lock(mutex_);
  const std::string parent = NodeName{project, zone, {}}.Parent();
  if (auto error = Enter({"list", parent, {}, {}}, stop)) return *std::move(error);
  if (ReplyIsLost("list")) return MakeError(ErrorCode::kReplyLost, "the connection broke");
  for (auto& [name, work] : works_) {
    if (work.target.starts_with(parent + "/")) Look(work);
  }
  std::vector<Value> found;
  for (const auto& [resource, node] : nodes_) {
    if (IsBelow(resource, project, zone)) found.push_back(node);
  }
  return found;
}

Result<Value> FakeProvider::GetNode(const NodeName& name, std::stop_token stop) {
  std::lock_guard lock(mutex_);
  if (auto error = Enter({"get", name.Resource(), {}, {}}, stop)) return *std::move(error);
  if (ReplyIsLost("get")) return MakeError(ErrorCode::kReplyLost, "the connection broke");
  LookAt(name.Resource());
  auto it = nodes_.find(name.Resource());
  if (it == nodes_.end()) return NoSuchNode(name.Resource());
  return it->second;
}

std::optional<Operation> FakeProvider::Repeated(const std::string& request_id) const {
  const auto known = requests_.find(request_id);
  if (known == requests_.end()) return std::nullopt;
  return works_.at(known->second).operation;
}

Result<Operation> FakeProvider::CreateNode(const NodeName& name, const Value& node,
                                           const std::string& request_id, std::stop_token stop) {
  std::lock_guard lock(mutex_);
  if (auto error = Enter({"create", name.Resource(), node, {}, request_id}, stop)) {
    return *std::move(error);
  }
  if (auto known = Repeated(request_id)) return Answer("create", *std::move(known));
  if (nodes_.contains(name.Resource())) {
    return MakeError(ErrorCode::kAlreadyExists,
                     fmt::format("Resource '{}' already exists", name.Resource()));
  }
  Value made = ServerView(name, node);
  made.Set("state", "CREATING");
  nodes_[name.Resource()] = made;
  Operation operation = Start("create", name, std::move(made), {});
  if (!request_id.empty()) requests_[request_id] = operation.name;
  return Answer("create", std::move(operation));
}

Result<Operation> FakeProvider::PatchNode(const NodeName& name, const Value& node,
                                          const std::vector<std::string>& update_mask,
                                          std::stop_token stop) {
  std::lock_guard lock(mutex_);
  if (auto error = Enter({"patch", name.Resource(), node, update_mask}, stop)) {
    return *std::move(error);
  }
  auto it = nodes_.find(name.Resource());
  if (it == nodes_.end()) return NoSuchNode(name.Resource());
  if (update_mask.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "the update mask is empty");
  }
  for (const std::string& entry : update_mask) {
    if (!IsPatchable(JsonPath(entry))) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("update of {} is not supported", entry));
    }
  }
  const std::string state = it->second["state"].AsString();
  if (state != "READY" && state != "STOPPED") {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("Cloud TPU received a bad request. update is not supported while "
                                 "in state {}",
                                 state));
  }
  return Answer("patch", Start("patch", name, node, update_mask));
}

Result<Operation> FakeProvider::DeleteNode(const NodeName& name, const std::string& request_id,
                                           std::stop_token stop) {
  std::lock_guard lock(mutex_);
  if (auto error = Enter({"delete", name.Resource(), {}, {}, request_id}, stop)) {
    return *std::move(error);
  }
  if (auto known = Repeated(request_id)) return Answer("delete", *std::move(known));
  auto it = nodes_.find(name.Resource());
  if (it == nodes_.end()) return NoSuchNode(name.Resource());
  // What else was going on with this node ends here.
  for (auto& [key, work] : works_) {
    if (work.target != name.Resource() || work.operation.done || work.method == "delete") continue;
    work.operation.done = true;
    work.operation.error.push_back(
        MakeError(ErrorCode::kCancelled, "the operation was cancelled by a delete"));
  }
  it->second.Set("state", "DELETING");
  Operation operation = Start("delete", name, {}, {});
  if (!request_id.empty()) requests_[request_id] = operation.name;
  return Answer("delete", std::move(operation));
}

// The documentation of StopNode: only with single TPU nodes.
Result<Operation> FakeProvider::Power(const std::string& method, const NodeName& name,
                                      const std::stop_token& stop) {
  std::lock_guard lock(mutex_);
  if (auto error = Enter({method, name.Resource(), {}, {}}, stop)) return *std::move(error);
  auto it = nodes_.find(name.Resource());
  if (it == nodes_.end()) return NoSuchNode(name.Resource());
  const std::string state = it->second["state"].AsString();
  if (it->second["networkEndpoints"].AsList().size() > 1 ||
      state != (method == "stop" ? "READY" : "STOPPED")) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("{} is not supported for this node while in state {}", method, state));
  }
  it->second.Set("state", method == "stop" ? "STOPPING" : "STARTING");
  return Answer(method, Start(method, name, {}, {}));
}

Result<Operation> FakeProvider::StartNode(const NodeName& name, std::stop_token stop) {
  return Power("start", name, stop);
}

Result<Operation> FakeProvider::StopNode(const NodeName& name, std::stop_token stop) {
  return Power("stop", name, stop);
}

Result<Operation> FakeProvider::GetOperation(const std::string& operation, std::stop_token stop) {
  std::lock_guard lock(mutex_);
  if (auto error = Enter({"operation", operation, {}, {}}, stop)) return *std::move(error);
  if (ReplyIsLost("operation")) return MakeError(ErrorCode::kReplyLost, "the connection broke");
  auto it = works_.find(operation);
  if (it == works_.end()) return NoSuchNode(operation);
  Look(it->second);
  return it->second.operation;
}

Result<std::vector<Operation>> FakeProvider::ListOperations(const std::string& project,
                                                            const std::string& zone,
                                                            std::stop_token stop) {
  std::lock_guard lock(mutex_);
  const std::string parent = NodeName{project, zone, {}}.Parent();
  if (auto error = Enter({"operations", parent, {}, {}}, stop)) return *std::move(error);
  std::vector<Operation> found;
  for (const auto& [name, work] : works_) {
    if (work.target.starts_with(parent + "/")) found.push_back(work.operation);
  }
  return found;
}

Result<std::vector<WorkerAttributes>> FakeProvider::GetGuestAttributes(
    const NodeName& name, const std::string& query_path, std::stop_token stop) {
  std::lock_guard lock(mutex_);
  if (auto error = Enter({"attributes", name.Resource(), {}, {}}, stop)) return *std::move(error);
  auto it = nodes_.find(name.Resource());
  if (it == nodes_.end()) return NoSuchNode(name.Resource());
  const bool wanted = query_path.empty() || query_path.starts_with("hostkeys");
  std::vector<WorkerAttributes> workers(it->second["networkEndpoints"].AsList().size());
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    if (!options_.host_keys || !wanted) continue;
    using namespace std::string_literals;
    std::string key = fmt::format("{}/{}", name.node, worker);
    key.resize(32);
    workers[worker].push_back(
        {"hostkeys", "ssh-ed25519", Base64Encode("\0\0\0\x0bssh-ed25519\0\0\0\x20"s + key)});
  }
  return workers;
}

void FakeProvider::FailNext(const std::string& method, Error error, int times) {
  std::lock_guard lock(mutex_);
  faults_.push_back({method, std::move(error), 1, times});
}

void FakeProvider::FailCall(int k, Error error) {
  std::lock_guard lock(mutex_);
  faults_.push_back({"", std::move(error), k, 1});
}

void FakeProvider::LoseReply(const std::string& method, int times) {
  std::lock_guard lock(mutex_);
  lost_replies_.push_back({method, {}, 1, times});
}

void FakeProvider::FailOperation(const std::string& method, Error error, bool leaves_node) {
  std::lock_guard lock(mutex_);
  operation_faults_.push_back({method, std::move(error), leaves_node});
}

void FakeProvider::Calm() {
  std::lock_guard lock(mutex_);
  faults_.clear();
  lost_replies_.clear();
  operation_faults_.clear();
  interlopers_.clear();
}

void FakeProvider::Before(const std::string& method, std::function<void(FakeProvider&)> act) {
  std::lock_guard lock(mutex_);
  interlopers_.push_back({method, std::move(act)});
}

void FakeProvider::PutNode(const NodeName& name, Value node) {
  std::lock_guard lock(mutex_);
  ++serial_;
  Value made = ServerView(name, std::move(node));
  if (made.Find("state") == nullptr) made.Set("state", "READY");
  if (made.Find("health") == nullptr) made.Set("health", "HEALTHY");
  nodes_[name.Resource()] = std::move(made);
}

std::optional<Value> FakeProvider::Node(const NodeName& name) const {
  std::lock_guard lock(mutex_);
  auto it = nodes_.find(name.Resource());
  return it == nodes_.end() ? std::nullopt : std::make_optional(it->second);
}

void FakeProvider::EditNode(const NodeName& name, const std::function<void(Value&)>& edit) {
  std::lock_guard lock(mutex_);
  edit(nodes_.at(name.Resource()));
}

void FakeProvider::RemoveNode(const NodeName& name) {
  std::lock_guard lock(mutex_);
  nodes_.erase(name.Resource());
}

void FakeProvider::PatchAsSomebodyElse(const NodeName& name, const std::vector<std::string>& mask,
                                       const std::function<void(Value&)>& edit) {
  std::lock_guard lock(mutex_);
  Value body = nodes_.at(name.Resource());
  edit(body);
  const Operation operation = Start("patch", name, std::move(body), mask);
  Work& work = works_.at(operation.name);
  if (!work.operation.done) Finish(work);
}

std::size_t FakeProvider::NodeCount() const {
  std::lock_guard lock(mutex_);
  return nodes_.size();
}

void FakeProvider::FinishOperations() {
  std::lock_guard lock(mutex_);
  for (auto& [name, work] : works_) {
    if (!work.operation.done) Finish(work);
  }
}

bool FakeProvider::HasUnfinishedOperations() const {
  std::lock_guard lock(mutex_);
  return std::any_of(works_.begin(), works_.end(),
                     [](const auto& entry) { return !entry.second.operation.done; });
}

std::vector<FakeProvider::Call> FakeProvider::Calls() const {
  std::lock_guard lock(mutex_);
  return calls_;
}

std::vector<FakeProvider::Call> FakeProvider::Calls(const std::string& method) const {
  std::lock_guard lock(mutex_);
  std::vector<Call> found;
  std::copy_if(calls_.begin(), calls_.end(), std::back_inserter(found),
               [&](const Call& call) { return call.method == method; });
  return found;
}

int FakeProvider::MutatingCalls() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(calls_.begin(), calls_.end(), [](const Call& call) {
    return call.method == "create" || call.method == "patch" || call.method == "delete" ||
           call.method == "start" || call.method == "stop";
  }));
}

void FakeProvider::ForgetCalls() {
  std::lock_guard lock(mutex_);
  calls_.clear();
}

}  // namespace podctl::testing
