#include "plans/kinds/pod/node_view.h"

#include <fmt/format.h>

#include <utility>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/route.h"
#include "providers/base/encoding.h"
#include "providers/base/foreign_text.h"
#include "providers/base/text.h"
#include "providers/gcp/tpu_schema.h"
#include "providers/os/this_process.h"
#include "providers/slices.h"

namespace podctl {

int WorkersPerSlice(const Value& node) {
  const std::size_t slices = node["slices"].AsList().size();
  return slices == 0 ? 0 : static_cast<int>(WorkerCount(node) / slices);
}

bool IsTerminalState(const std::string& state) {
  return state == "PREEMPTED" || state == "TERMINATED" || state == kMissingSlice;
}

bool IsStopped(const Value& node) {
  const std::string state = NodeState(node);
  return state == "STOPPED" || state == "STOPPING";
}

bool IsKnownState(const std::string& state) {
  return gcp::IsEnumWord(*gcp::FindNodeField("state"), state);
}

Value NodeAfter(Value node, const std::vector<AttributeChange>& changes) {
  for (const AttributeChange& change : changes) {
    if (change.path.starts_with("metadata.")) continue;  // nothing can refer to it
    if (change.known && change.after) {
      node.SetPath(change.path, *change.after);
    } else {
      node.ErasePath(change.path);
    }
  }
  return node;
}

Value ObservedFacts(const Value& node) {
  static constexpr std::string_view kFacts[] = {// sorted, as the map is
                                                "acceleratorConfig",
                                                "acceleratorType",
                                                "createTime",
                                                "health",
                                                "healthDescription",
                                                "networkConfigs",
                                                "networkEndpoints",
                                                "queuedResource",
                                                "runtimeVersion",
                                                "slices",
                                                "state"};
  Value::Map facts;
  facts.reserve(std::size(kFacts));
  for (const std::string_view key : kFacts) {
    if (const Value* value = node.Find(key)) facts.emplace_hint(facts.end(), key, *value);
  }
  return Value(std::move(facts));
}

namespace {

// What JAX and libtpu read to find the other slices, as the service's own tpu-env has it.
void JoinSlice(const Value& node, WorkerAccess* worker) {
  worker->per_slice = WorkersPerSlice(node);
  if (worker->per_slice == 0) return;
  worker->env["MEGASCALE_COORDINATOR_ADDRESS"] =
      node["networkEndpoints"].AsList().front()["ipAddress"].AsString();
  worker->env["MEGASCALE_NUM_SLICES"] = std::to_string(node["slices"].AsList().size());
  worker->env["MEGASCALE_SLICE_ID"] = std::to_string(worker->slice());
}

}  // namespace

std::vector<WorkerAccess> AccessToWorkers(const std::string& pod, const PodRecord& record) {
  std::vector<WorkerAccess> workers;
  std::string user = record.ssh.user;
  if (user.empty()) user = record.ssh.os_login_user.value_or("");
  if (user.empty()) user = UserName();
  for (const Endpoint& endpoint : BackingOf(record).EndpointsOf(record)) {
    WorkerAccess worker;
    worker.pod = pod;
    worker.index = static_cast<int>(workers.size());
    const bool inside = record.ssh.internal_address || endpoint.external.empty();
    worker.host = inside ? endpoint.internal : endpoint.external;
    worker.inside = endpoint.internal;
    worker.port = record.ssh.port;
    worker.user = user;
    worker.identity_file = record.ssh.identity_file;
    worker.gcloud_alias = endpoint.gcloud_alias;
    JoinSlice(record.observed, &worker);
    worker.trust_first_use = !record.ssh.strict_host_keys;
    worker.use_openssh = record.ssh.transport.has_value();
    ChooseRoute(record, !endpoint.external.empty(), &worker);
    if (auto keys = record.host_keys.find(worker.index); keys != record.host_keys.end()) {
      worker.host_keys = keys->second;
    }
    workers.push_back(std::move(worker));
  }
  return workers;
}

namespace {

// "ssh-ed25519 AAAA…": two words, and the second the base64 of a key of the first's type (RFC 4253,
// section 6.6). More is not for known_hosts to hold: workers write these texts.
bool IsHostKeyText(const HostKeyText& text) {
  const auto words = Split(text, " ");
  if (words.size() != 2 || words[0].empty() || HoldsControls(text)) return false;
  const std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  if (words[1].find_first_not_of(plain) != std::string_view::npos) return false;
  const auto blob = Base64Decode(words[1]);
  const std::string type(words[0]);
  constexpr std::size_t kLength = 4;  // bytes of a length on the wire, the highest first
  if (!blob || blob->size() <= kLength + type.size()) return false;
  const std::string begin{'\0', '\0', '\0', static_cast<char>(type.size())};
  return blob->starts_with(begin + type);
}

// The one that an ssh client would ask for first.
std::string FirstOf(std::vector<HostKeyText> keys) {
  // A state of an earlier podctl may hold any text.
  std::erase_if(keys, [](const HostKeyText& key) { return !IsHostKeyText(key); });
  for (const std::string_view kind : {"ssh-ed25519 ", "ecdsa-"}) {
    for (const HostKeyText& key : keys) {
      if (key.starts_with(kind)) return key;
    }
  }
  return keys.empty() ? std::string() : keys.front();
}

}  // namespace

Value PublishedNode(Value node, const PodRecord* record) {
  if (record == nullptr || record->host_keys.empty()) return node;
  Value::List keys;
  const int last = record->host_keys.rbegin()->first;
  for (int worker = 0; worker <= last; ++worker) {
    const auto known = record->host_keys.find(worker);
    const std::string key = known == record->host_keys.end() ? "" : FirstOf(known->second);
    keys.push_back(key.empty() ? Value() : Value(key));
  }
  node.Set(kHostKeysMember, Value(std::move(keys)));
  return node;
}

std::map<int, std::vector<HostKeyText>> HostKeysOf(const std::vector<WorkerAttributes>& workers) {
  std::map<int, std::vector<HostKeyText>> keys;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    for (const GuestAttribute& attribute : workers[i]) {
      if (attribute.space != "hostkeys" || attribute.value.empty()) continue;
      std::string key = fmt::format("{} {}", attribute.key, TrimBlanks(attribute.value));
      if (IsHostKeyText(key)) keys[static_cast<int>(i)].push_back(std::move(key));
    }
  }
  return keys;
}

}  // namespace podctl
